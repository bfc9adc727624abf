"""Each value set, with both Helms: what `make chart` tells of, and what every set must give."""

import re
from pathlib import Path

import pytest
from tests.chart.__main__ import problems
from tests.chart.helm import run
from tests.chart.rendering import (
    CHART,
    NAMESPACE,
    SETS,
    containers,
    of_kind,
    pods,
    render,
    rendered,
)

from headway.db.access import migrate


@pytest.mark.parametrize("name", SETS)
def test_a_value_set_gives_valid_objects(name: str) -> None:
    assert problems(name) == []


@pytest.mark.parametrize("major", [3, 4])
def test_both_helms_are_used(major: int) -> None:
    assert run(major, "version", "--short").stdout.startswith(f"v{major}.")


def test_there_are_ten_value_sets() -> None:
    assert len(SETS) >= 10


@pytest.mark.parametrize("name", SETS)
def test_the_migration_is_named_for_the_schema_of_this_release(name: str) -> None:
    [job] = of_kind(rendered(name), "Job")

    assert f"-migrate-{migrate.head()}-" in job["metadata"]["name"]
    assert job["spec"]["ttlSecondsAfterFinished"] > 0


@pytest.mark.parametrize("name", SETS)
def test_no_name_is_too_long_to_be_a_label(name: str) -> None:
    assert [
        manifest["metadata"]["name"]
        for manifest in rendered(name)
        if len(manifest["metadata"]["name"]) > 63
    ] == []


@pytest.mark.parametrize("name", SETS)
def test_every_pod_of_a_service_waits_for_the_schema_as_its_own_role(name: str) -> None:
    for where, pod in pods(rendered(name)):
        waiting = [
            each_container
            for each_container in containers(pod)
            if each_container["name"] == "await-migration"
        ]
        service = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        if service not in ("scheduler", "parser", "worker", "api"):
            assert waiting == [], where
            continue
        [container] = waiting
        assert container["args"][:2] == ["db", "wait"]
        [url] = [
            variable["value"]
            for variable in container["env"]
            if variable["name"] == "HEADWAY_DATABASE_URL"
        ]
        assert url.startswith(f"postgresql://headway_{service}@")


def test_only_schedulers_have_the_login_of_users_and_may_be_without(tmp_path: Path) -> None:
    without = tmp_path / "values.yaml"
    without.write_text("scheduler: {userLogin: false}")

    def having(*values: Path) -> set[str]:
        return {
            f"{pod['metadata']['labels']['app.kubernetes.io/component']} {container['name']}"
            for _, pod in pods(render(*values))
            for container in containers(pod)
            if any("DATABASE_USER" in variable["name"] for variable in container.get("env", []))
        }

    assert having(SETS["production"]) == {"scheduler scheduler"}
    assert having(SETS["production"], without) == set()
    assert having(SETS["least"]) == set(), "nobody has said the password"


def test_a_worker_has_time_to_drain_for_every_group() -> None:
    for name in SETS:
        for where, pod in pods(rendered(name)):
            seconds = {
                variable["name"]: float(variable["value"])
                for variable in pod["spec"]["containers"][0].get("env", [])
                if variable["name"].endswith(("_GRACE", "_LEASE_DURATION"))
            }
            if seconds:
                grace = pod["spec"]["terminationGracePeriodSeconds"]
                drain, kill = (
                    seconds["HEADWAY_WORKER_DRAIN_GRACE"],
                    seconds["HEADWAY_WORKER_KILL_GRACE"],
                )
                assert grace >= drain + kill + 10, where


@pytest.mark.parametrize("name", SETS)
def test_notes_have_the_next_three_commands(name: str) -> None:
    arguments = ["install", "release", str(CHART), "--dry-run=client", "--namespace", NAMESPACE]
    done = run(4, *arguments, "--values", str(SETS[name]))
    _, _, notes = done.stdout.partition("NOTES:\n")

    commands = [line.strip() for line in notes.splitlines() if line.startswith("  kubectl")]

    assert len(commands) == 3, done.stderr
    names = {manifest["metadata"]["name"] for manifest in of_kind(rendered(name), "Deployment")}
    found = re.search(r"exec deployment/(\S+) --container scheduler -- headway doctor", notes)
    assert found
    assert found[1] in names
    [job] = of_kind(rendered(name), "Job")
    selector = re.search(r"wait job --selector (\S+)", notes)
    assert selector
    wanted = dict(each.split("=") for each in selector[1].split(","))
    assert wanted.items() <= job["metadata"]["labels"].items()
