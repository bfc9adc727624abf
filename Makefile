# Everything installs into .venv inside this checkout; nothing else is needed than Python >= 3.11.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
WORKERS ?= 2
# Python keeps what it has compiled, also where the environment says otherwise, as in containers.
export PYTHONDONTWRITEBYTECODE :=
TESTS  := $(BIN)/pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder
.DEFAULT_GOAL := help

help:  ## Show what there is to make
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 24

demo: $(STAMP)  ## Run the example pipeline on a week of real flights, on embedded defaults
	@$(BIN)/headway demo

test: $(STAMP)  ## Run all tests but the long ones: unit, integration, the real services
	$(TESTS) -m "not long" --ignore=tests/acceptance --ignore=tests/images --ignore=tests/providers

test-unit: $(STAMP)  ## Run the unit tests in a minute, with fewer examples of most properties than make test
	$(TESTS) --hypothesis-profile=quick tests/unit

test-long: $(STAMP)  ## Run the tests marked long, and the unit tests with 500 examples of most properties
	$(TESTS) -m long
	$(TESTS) --hypothesis-profile=long tests/unit

test-images: $(STAMP)  ## Build the images and run containers of them, as root
	$(BIN)/pytest tests/images

test-providers: .venv-providers/.installed  ## Run real provider packages of Airflow against local servers, in .venv-providers
	TEST_REQUIRE=all .venv-providers/bin/pytest tests/providers

test-polling: $(STAMP)  ## Run the integration tests with NOTIFY off
	TEST_NOTIFY=off $(TESTS) tests/integration

test-pgbouncer: $(STAMP)  ## Run the integration tests through PgBouncer in transaction mode
	@PATH="$$PATH:/usr/sbin" command -v pgbouncer > /dev/null || { echo "PgBouncer is not installed: apt-get install pgbouncer"; exit 1; }
	TEST_PGBOUNCER=1 $(TESTS) tests/integration

# Schedulers, workers and the locks between them: what a server's own settings could change.
DEBIAN_TESTS := $(addprefix tests/integration/, db/core/test_engine.py db/execution/test_attempts.py \
	db/execution/test_leases.py scheduler/passes/test_limits.py scheduler/races/test_limits_two_schedulers.py \
	scheduler/passes/test_create_runs.py scheduler/passes/test_start_runs.py \
	scheduler/passes/test_schedule_tasks.py scheduler/passes/test_queue_tasks.py scheduler/passes/test_adopt.py \
	db/scheduling/test_plans.py services/worker/test_worker_loss_services.py)

test-debian-postgres: $(STAMP)  ## Run tests of schedulers and workers on Debian's PostgreSQL 15 as installed
	.ci/debian-postgres $(TESTS) -m 'not history' $(DEBIAN_TESTS)

acceptance: $(STAMP)  ## Run flights on each kind of Spark; backfill a year of them four ways (an hour or two)
	$(BIN)/pytest tests/acceptance
	$(BIN)/python -m tests.acceptance.flights_backfill $(ARGS)

operations: $(STAMP)  ## Upgrade, fail over, back up and restore, change passwords, on real services (ten minutes)
	$(BIN)/python -m tests.operations $(ARGS)

chaos: $(STAMP)  ## Run real services under seeded faults: make chaos MINUTES=20 SEED=1 STALL=supervisor SKEW=600
	$(BIN)/python -m tests.chaos $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEED),--seed $(SEED)) \
		$(if $(STALL),--stall $(STALL)) $(if $(SKEW),--skew $(SKEW)) $(ARGS)

pods: $(STAMP)  ## Run the chart's production release as pods of podman, as root, and disturb it
	$(BIN)/python -m tests.pods $(ARGS)

machines: $(STAMP)  ## Install Headway on three machines as the guide says, as root, and fail one of them
	$(BIN)/python -m tests.machines $(ARGS)

mutants: $(STAMP)  ## Sample small changes of the code that tests must catch: make mutants NAME=decide N=60 SEED=1
	$(BIN)/python -m tests.mutants $(if $(NAME),--name $(NAME)) $(if $(N),--number $(N)) $(if $(SEED),--seed $(SEED))

chart: $(STAMP)  ## Check the Helm chart with Helm 3 and Helm 4, and all of its value sets
	$(BIN)/pytest --quiet tests/chart
	$(BIN)/python -m tests.chart

chart-files: $(STAMP)  ## Write the schema, the README, the dashboards and the golden files of the Helm chart anew
	$(BIN)/python -m deploy.helm.values_schema
	$(BIN)/python -m deploy.helm.values_readme
	$(BIN)/python -m deploy.helm.dashboards
	$(BIN)/python -m tests.chart.shape

api-files: $(STAMP)  ## Write the OpenAPI document and the table of Airflow's operations anew
	$(BIN)/python -m tests.integration.api.document
	$(BIN)/python -m tests.integration.api.airflow_operations

check: $(STAMP)  ## Check style, types and imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP)  ## Run the benchmarks, or one of them: make bench NAME=...
	$(BIN)/python -m benchmarks $(NAME)

ROUNDS ?= 15
compare: $(STAMP)  ## Compare with a revision: make compare OLD=<revision> NAME=scheduler,tasks ROUNDS=15
	$(BIN)/python -m benchmarks.support.compare "$(OLD)" "$(NAME)" "$(ROUNDS)"

install: $(STAMP)  ## Create the virtual environment and install Headway into it

lock: $(STAMP)  ## Write what is installed now to constraints.txt, and hashes to deploy/requirements*.txt
	$(BIN)/pip freeze --exclude-editable --exclude pip --exclude setuptools --exclude wheel > constraints.txt
	$(BIN)/python deploy/lock.py

wheel: $(STAMP)  ## Build the one wheel of the library and the services into dist/
	@deploy/wheel

images: wheel  ## Build the images headway and headway-spark by Docker, podman or buildah
	@deploy/images/build $(TARGETS)

sbom:  ## Write what each image is made of to dist/*.cdx.json (CycloneDX); after make images
	@deploy/images/sbom $(TARGETS)

clean:  ## Remove the virtual environment and all local state
	rm -rf $(VENV) .headway

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Headway needs Python 3.11 or newer; name one: make PYTHON=python3.12")'
	@echo "Installing Headway into $(VENV) (about two minutes the first time) ..."
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install $(PIP_OPTIONS) --quiet --disable-pip-version-check --use-pep517 --constraint constraints.txt --editable '.[api,oidc,spark,examples,dev]'
	@touch $@

# What provider packages require goes with no constraint of Headway's tests: another environment.
# That of Snowflake requires SQLAlchemy < 2.1.
.venv-providers/.installed: pyproject.toml constraints.txt tests/providers/requirements.txt
	$(PYTHON) -m venv .venv-providers
	sed '/^sqlalchemy=/Id' constraints.txt > .venv-providers/constraints.txt
	.venv-providers/bin/pip install --quiet --disable-pip-version-check --use-pep517 \
		--constraint .venv-providers/constraints.txt --editable '.[airflow,spark]' 'sqlalchemy<2.1' \
		aiosmtpd hypothesis psutil pytest pytest-xdist 'testcontainers[postgres]'
	xargs .venv-providers/bin/headway providers install < tests/providers/requirements.txt
	.venv-providers/bin/pip install --quiet --disable-pip-version-check 'moto[server]==5.*' s3fs
	@touch $@

.PHONY: help demo test test-unit test-long test-images test-providers mutants test-polling test-pgbouncer test-debian-postgres acceptance chaos operations pods machines chart chart-files api-files check bench compare install lock wheel images sbom clean
