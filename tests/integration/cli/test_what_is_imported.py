"""What a command imports: most of its time is Python's, reading modules, and most of its memory."""

import json
import subprocess
import sys
from typing import Any

import pytest

ONLY_FOR_SERVICES = (
    "alembic",
    "headway.embedded",
    "headway.sdk",
    "headway.serialization",
    "headway.runtime.settings.parser",
    "jinja2",
    "msgpack",
    "pathspec",
    "pendulum",
    "prometheus_client",
    "rich",
    "watchfiles",
)
ONLY_WITH_A_DATABASE = (
    "asyncio",
    "headway.db",
    "headway.runtime.settings.worker",
    "importlib.metadata",
    "psycopg2",
    "pydantic",
    "sqlalchemy",
    "zoneinfo",
)


def imported(arguments: list[str], program: str = "headway.cli.main") -> set[str]:
    """Run a command that cannot reach its database; return the modules it has imported by then."""
    source = (
        "import atexit, json, sys\n"
        "atexit.register(lambda: print('\\n' + json.dumps(sorted(sys.modules))))\n"
        f"from {program} import main\n"
        f"sys.argv = ['headway', *{arguments!r}]\n"
        "main()\n"
    )
    nowhere = {
        "HEADWAY_DATABASE_URL": "postgresql://headway@127.0.0.1:1/headway",
        "PATH": "/nowhere",
    }
    done = subprocess.run(
        [sys.executable, "-c", source], env=nowhere, capture_output=True, text=True, check=False
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


def printed(program: str) -> Any:
    """Run a program of Python; return the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_help_needs_neither_the_database_nor_what_services_need() -> None:
    modules = imported(["--help"])

    assert "headway.cli.commands.dags.dags" in modules
    assert modules & {*ONLY_FOR_SERVICES, *ONLY_WITH_A_DATABASE} == set()


def test_the_plugin_of_kubectl_needs_nothing_of_a_database() -> None:
    modules = imported(["runs"], "headway.kubectl.main")

    of_typer = {"importlib.metadata", "pydantic", "zoneinfo"}
    assert "headway.kubectl.release" in modules
    assert modules & {*ONLY_FOR_SERVICES, *ONLY_WITH_A_DATABASE} == of_typer


def test_a_list_needs_the_database_alone() -> None:
    modules = imported(["dags", "list"])

    assert "headway.db.access.migrate" in modules, "it has got as far as to the database"
    assert modules & set(ONLY_FOR_SERVICES) == set()


def test_a_probe_needs_no_database_and_nothing_of_services() -> None:
    """It is run every few seconds."""
    forker = imported(["health", "forker", "--socket", "/nowhere"])
    worker = imported(["health", "worker"])

    assert "headway.runtime.forker.ping" in forker, "it has got as far as to the socket"
    assert "headway.runtime.health.asking" in worker, "it has got as far as to the port"
    frames, settings = {"headway.serialization", "msgpack"}, {"headway.runtime.settings.parser"}
    database = {"headway.db", "psycopg2", "sqlalchemy"}
    assert forker & {*ONLY_FOR_SERVICES, *database, "headway.runtime.settings.worker"} == frames
    assert worker & {*ONLY_FOR_SERVICES, *database} == settings


def test_the_launcher_of_all_services_keeps_nothing_in_memory_to_talk_to_a_database() -> None:
    program = (
        "import json, sys, headway.cli.launch.standalone; print(json.dumps(sorted(sys.modules)))"
    )

    assert set(printed(program)) & {"alembic", "psycopg2", "sqlalchemy"} == set()


def test_the_services_of_one_machine_share_all_that_is_large() -> None:
    """What they import by themselves, each keeps for itself."""
    program = (
        "import json, sys\n"
        "import headway.cli.launch.warm\n"
        "before = set(sys.modules)\n"
        "import headway_parser.serving, headway_scheduler.command, headway_worker.command\n"
        "from headway.db.core import engine\n"
        "engine.connect('postgresql://headway@127.0.0.1:1/headway')\n"
        "print(json.dumps([sorted(before), sorted(set(sys.modules) - before)]))\n"
    )
    shared, own = map(set, printed(program))

    authoring = "headway.sdk.authoring.definition"
    assert shared & {"alembic", "headway.cli.main", authoring, "jinja2", "typer"} == set()
    assert {
        "headway.db.access.registration",
        "headway_worker.command",
        "psycopg2",
        "pydantic",
    } <= shared
    assert {
        name for name in own if name.startswith(("pydantic", "psycopg2", "sqlalchemy"))
    } == set()


def test_what_services_share_holds_no_setting_which_may_change_before_they_start() -> None:
    program = (
        "import headway.cli.launch.warm\n"
        "from headway.runtime.settings import configuration\n"
        "print({kind.__pydantic_complete__ for kind in configuration.Settings.__subclasses__()})\n"
        "print(configuration.config_file.cache_info().currsize)\n"
    )
    unreadable = {"HEADWAY_CONFIG": "/nowhere/headway.toml", "HEADWAY_DATABASE_POOLER": "perhaps"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=unreadable, capture_output=True, text=True, check=True
    )

    assert done.stdout == "{True}\n0\n"


def test_no_service_of_one_machine_reads_the_other_commands() -> None:
    program = (
        "import json, sys\n"
        "from headway.cli.launch import service_program as launching\n"
        "sys.argv = ['headway', 'scheduler']\n"
        "try:\n"
        "    launching.main()\n"
        "except SystemExit as ended:\n"
        "    print(json.dumps([ended.code, sorted(sys.modules)]))\n"
    )
    unreadable = {"HEADWAY_DATABASE_URL": "postgresql://headway@127.0.0.1:port/headway"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=unreadable, capture_output=True, text=True, check=True
    )
    code, modules = json.loads(done.stdout)

    assert code == 6, "it has got as far as to the database"
    assert "headway_scheduler.command" in modules
    assert set(modules) & {"typer", "headway.cli.main", "headway.cli.commands.dags.dags"} == set()


def test_opentelemetry_is_imported_only_where_the_environment_asks_for_traces() -> None:
    source = (
        "import sys\n"
        "from headway.db.access import registration as daemon\n"
        "import headway_parser.serving, headway_worker.command, headway_scheduler.command\n"
        "traces = daemon._traces(sys.argv[1])\n"
        "print(traces is not None, 'opentelemetry' in sys.modules,"
        " 'headway.runtime.traces.traces' in sys.modules)\n"
    )
    asked = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}

    found = [
        subprocess.run(
            [sys.executable, "-c", source, kind],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for kind, environment in (("worker", {}), ("worker", asked), ("parser", asked))
    ]

    assert found == [["False"] * 3, ["True"] * 3, ["False"] * 3]


@pytest.mark.parametrize("service", ["parser", "worker"])
def test_a_fork_server_has_what_most_dag_files_use_and_no_more(service: str) -> None:
    """Each of its children has all of its memory, and a fork takes longer the more that is."""
    source = (
        f"import headway_{service}.child.preload\n"
        "import json, sys\n"
        "print(json.dumps(sorted(sys.modules)))\n"
    )
    modules = set(printed(source))

    assert "headway.sdk.operators.bash" in modules
    assert modules & {"asyncio", "email", "fsspec", "importlib.metadata", "ssl"} == set()


def test_the_fork_server_of_a_parser_keeps_nothing_of_the_file_that_it_warms_up_with() -> None:
    source = (
        "import sys\n"
        "before = list(sys.path)\n"
        "import headway_parser.child.preload as preload\n"
        "import json\n"
        "known = [*sys.modules, *sys.path_importer_cache]\n"
        "print(json.dumps([sys.path == before, [name for name in known if 'sample' in name]]))\n"
    )

    assert printed(source) == [True, []]


@pytest.mark.parametrize("service", ["parser", "worker"])
def test_a_fork_server_tells_its_children_nothing_of_what_it_warms_up_with(service: str) -> None:
    source = (
        "import json, os\n"
        "os.environ['AIRFLOW_CTX_DAG_OWNER'] = 'outer'\n"
        f"import headway_{service}.child.preload\n"
        "print(json.dumps({name: each for name, each in os.environ.items() if '_CTX_' in name}))\n"
    )

    assert printed(source) == {"AIRFLOW_CTX_DAG_OWNER": "outer"}
