"""Names that look like settings and are none."""

import re
from pathlib import Path

import pytest

from headway.domain.errors import SettingsError
from headway.runtime.settings import configuration
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import Settings, variable
from headway.runtime.settings.database import DatabaseSettings
from headway.runtime.settings.logs import LogSettings
from headway.runtime.settings.models import MODELS
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.unknown import SECTIONS, is_of_kubernetes
from headway.runtime.settings.worker import WorkerSettings

pytestmark = pytest.mark.usefixtures("no_settings")


def refusal(kind: type[Settings]) -> str:
    with pytest.raises(SettingsError) as caught:
        configuration.read(kind)
    return str(caught.value)


def test_the_sections_are_those_of_all_settings() -> None:
    assert {model.section for model in MODELS} == set(SECTIONS)


@pytest.mark.regression
@pytest.mark.parametrize(
    ("variable", "kind", "meant"),
    [
        ("HEADWAY_WORKER_SLOTZ", WorkerSettings, "HEADWAY_WORKER_SLOTS"),
        ("HEADWAY_SCHEDULER_IDLE_SLEEP", SchedulerSettings, None),
        ("HEADWAY_PARSER_DAG", ParserSettings, "HEADWAY_PARSER_DAGS"),
        ("HEADWAY_DATABASE_ULR", DatabaseSettings, "HEADWAY_DATABASE_URL"),
        ("HEADWAY_DATABSE_URL", DatabaseSettings, "HEADWAY_DATABASE_URL"),
        ("HEADWAY_LOG_MAX_BYTES", LogSettings, "HEADWAY_LOGS_MAX_BYTES"),
        ("HEADWAY_WROKER_SLOTS", WorkerSettings, "HEADWAY_WORKER_SLOTS"),
        ("HEADWAY_PARSER_WATCH", ParserSettings, "HEADWAY_PARSER_WATCH_FILES"),
        ("HEADWAY_PARSER_READABLE", ParserSettings, "HEADWAY_PARSER_READABLE_PATHS"),
        (
            "HEADWAY_WORKER_SPARK_SERVER_IDLE",
            WorkerSettings,
            "HEADWAY_WORKER_SPARK_SERVER_IDLE_TIMEOUT",
        ),
        (
            "HEADWAY_WORKER_SPARK_SERVER_ATTEMPTS",
            WorkerSettings,
            "HEADWAY_WORKER_SPARK_SERVER_MAX_ATTEMPTS",
        ),
    ],
)
def test_a_variable_that_is_no_setting_is_refused_with_the_nearest(
    monkeypatch: pytest.MonkeyPatch, variable: str, kind: type[Settings], meant: str | None
) -> None:
    monkeypatch.setenv(variable, "secret")

    said = refusal(kind)

    assert said.startswith(f"{variable} is no setting of Headway; did you mean HEADWAY_")
    assert meant is None or f"did you mean {meant}?" in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEADWAY_SCHEDULER_PARALELISM", "1"),  # the scheduler refuses it
        ("HEADWAY_SCHEDULER_PARALLELISM", "1"),
        ("HEADWAY_HOME", "/srv"),
        ("HEADWAY_ATTEMPT", "1"),
        ("HEADWAY_SPARK_ATTEMPT", "7-1"),
        ("HEADWAY_CALLBACK", "1"),
        ("HEADWAY_GATE", "1"),
        ("HEADWAY_CONN_WORKER_SLOTS", "1"),
        ("HEADWAY_VAR_DATABASE_URL", "1"),
        ("HEADWAY_OF_MINE", "1"),
        ("HEADWAY_WORKER_SERVICE_HOST", "10.0.0.1"),
        ("HEADWAY_WORKER_SERVICE_PORT", "8080"),
        ("HEADWAY_WORKER_SERVICE_PORT_HTTP", "8080"),
        ("HEADWAY_WORKER_PORT", "tcp://10.0.0.1:8080"),
        ("HEADWAY_WORKER_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("HEADWAY_WORKER_PORT_8080_TCP_PROTO", "tcp"),
        ("HEADWAY_WORKER_PORT_8080_TCP_PORT", "8080"),
        ("HEADWAY_WORKER_PORT_8080_TCP_ADDR", "10.0.0.1"),
    ],
)
def test_what_is_for_others_passes(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)

    assert configuration.read(WorkerSettings).slots == 8
    assert configuration.read(DatabaseSettings).url is None


OF_KUBERNETES = re.compile(r".*_SERVICE_HOST|.*_SERVICE_PORT.*|.*_PORT_\d+_(TCP|UDP|SCTP).*")
"""What Kubernetes sets for a Service, and a program that reads it may not mistake for its own."""

VARIABLES = [(model, name) for model in MODELS for name in model.model_fields]
HTTP_PORTS = [
    (ParserSettings, "http_port"),
    (SchedulerSettings, "http_port"),
    (WorkerSettings, "http_port"),
    (ApiSettings, "http_port"),
]
PORTS = [*HTTP_PORTS, (ApiSettings, "port")]


def test_no_setting_is_called_like_a_variable_that_kubernetes_sets() -> None:
    names = [variable(model, name) for model, name in VARIABLES]

    assert len(names) > 50
    assert [name for name in names if OF_KUBERNETES.fullmatch(name)] == []


def test_only_ports_of_services_are_called_like_the_address_of_a_service() -> None:
    """Those are passed over if they look like an address."""
    ports = [setting for setting in VARIABLES if variable(*setting).endswith("_PORT")]

    assert sorted(ports, key=str) == sorted(PORTS, key=str)


@pytest.mark.parametrize(("model", "name"), PORTS)
@pytest.mark.parametrize("scheme", ["tcp", "udp", "sctp"])
def test_an_http_port_is_not_the_address_of_a_service(
    monkeypatch: pytest.MonkeyPatch, model: type[Settings], name: str, scheme: str
) -> None:
    """As that of a Service called headway-worker-http, in the pod of a worker without a port."""
    monkeypatch.setenv(variable(model, name), f"{scheme}://10.0.0.1:8080")
    assert getattr(configuration.read(model), name) == model.model_fields[name].default

    monkeypatch.setenv(variable(model, name), "8080")
    assert getattr(configuration.read(model), name) == 8080


@pytest.mark.parametrize("value", ["-1", "65536", "http", "http://10.0.0.1:8080"])
def test_what_is_no_port_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("HEADWAY_WORKER_HTTP_PORT", value)

    assert refusal(WorkerSettings).startswith("HEADWAY_WORKER_HTTP_PORT: ")


def test_the_name_of_an_earlier_release_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADWAY_SCHEDULER_METRICS_PORT", "9090")

    assert refusal(SchedulerSettings).startswith("HEADWAY_SCHEDULER_METRICS_PORT is no setting")


def test_a_port_that_is_no_address_is_not_of_kubernetes() -> None:
    assert not is_of_kubernetes("HEADWAY_WORKER_PORT", "8080")
    assert not is_of_kubernetes("HEADWAY_WORKER_SLOTS", "tcp://10.0.0.1:8080")


@pytest.mark.regression
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "[worker]\nslotz = 3\n",
            "slotz in [worker] is no setting of Headway; did you mean slots",
        ),
        (
            "[wroker]\nslots = 3\n",
            "[wroker] is no section of Headway's settings; did you mean w",
        ),
        ("slots = 3\n", "[slots] is no section of Headway's settings"),
        ("[scheduler]\nx = 1\n", "x in [scheduler] is no setting of Headway. `headway settings`"),
    ],
)
def test_a_key_of_the_file_that_nobody_knows_is_refused(
    tmp_path: Path, text: str, problem: str
) -> None:
    """Also in the sections of other services: it is one file for all."""
    file = tmp_path / "headway.toml"
    file.write_text(text)

    assert refusal(WorkerSettings).startswith(f"{file}: {problem}")
