"""What containers are given is what Headway reads, and what it needs."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.chart.checks.policy import violations
from tests.chart.checks.validity import invalid
from tests.chart.checks.wiring import loose_ends
from tests.chart.rendering import CHART, SETS, Object, containers, of_kind, pods, render, rendered
from tests.chart.shape import FOLDER, KEPT, shape

from headway.domain.connection import Connection
from headway.domain.variable import SecretKind
from headway.runtime.settings import configuration
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import Settings, variable
from headway.runtime.settings.database import DatabaseSettings, RoleSettings
from headway.runtime.settings.logs import LogSettings
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.secret_keys import SecretsSettings, variable_of
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.spark.target.connection import SparkKind, spark_connection

READS: dict[str, list[type[Settings]]] = {
    "await-migration": [DatabaseSettings],
    "migrate": [DatabaseSettings, RoleSettings],
    "scheduler": [DatabaseSettings, SchedulerSettings],
    "parser": [DatabaseSettings, ParserSettings, SecretsSettings],
    "api": [DatabaseSettings, ApiSettings, SecretsSettings],
    "worker": [
        DatabaseSettings,
        WorkerSettings,
        LogSettings,
        SecretsSettings,
    ],
    "forker": [],
    "postgres": [],
    "pgbouncer": [],
}
"""The settings that each container reads."""


def every_container() -> Iterator[tuple[str, str, Object]]:
    for name in SETS:
        for where, pod in pods(rendered(name)):
            for container in containers(pod):
                yield name, where, container


def variables(container: Object) -> dict[str, str]:
    """The environment of a container; a value that comes from elsewhere is a key, or a word."""
    key = f"id:{'A' * 43}="
    return {
        variable["name"]: variable.get(
            "value", key if variable["name"] == "HEADWAY_SECRETS_KEYS" else "word"
        )
        for variable in container.get("env", [])
    }


@pytest.mark.parametrize("name", KEPT)
def test_containers_have_what_they_had(name: str) -> None:
    """After a change that is meant to change this: `python -m tests.chart.shape`."""
    assert shape(rendered(name)) == (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", SETS)
def test_headway_takes_the_settings_of_every_container(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for where, pod in pods(rendered(name)):
        for container in containers(pod):
            for set_here in [name for name in os.environ if name.startswith("HEADWAY_")]:
                monkeypatch.delenv(set_here)
            with monkeypatch.context() as its:
                for given, value in variables(container).items():
                    its.setenv(given, value)
                for model in READS[container["name"]]:
                    assert configuration.read(model), where


def test_no_container_has_a_setting_that_it_does_not_read() -> None:
    for name, where, container in every_container():
        read = {
            variable(model, field)
            for model in READS[container["name"]]
            for field in model.model_fields
        }
        given = {
            variable_name
            for variable_name in variables(container)
            if variable_name.startswith("HEADWAY_")
        }
        others = {
            name for name in given - read if not name.startswith(("HEADWAY_CONN_", "HEADWAY_VAR_"))
        }
        assert others <= {"HEADWAY_HOME"}, (name, where, container["name"])


def test_no_setting_is_named_like_a_variable_that_kubernetes_makes() -> None:
    services = {
        manifest["metadata"]["name"]
        for name in SETS
        for manifest in of_kind(rendered(name), "Service")
    }
    made = tuple(f"{service.upper().replace('-', '_')}_" for service in services)

    assert services
    assert [
        variable_name
        for _, _, container in every_container()
        for variable_name in variables(container)
        if variable_name.startswith(made) or variable_name.endswith("_SERVICE_HOST")
    ] == []


def test_spark_connections_are_what_headway_reads() -> None:
    kinds = set()
    for name, where, container in every_container():
        text = variables(container).get("HEADWAY_CONN_SPARK_DEFAULT", "word")
        if text == "word":
            continue
        found = spark_connection("spark_default", Connection.from_text("spark_default", text))
        kinds.add((found.kind, (found.master or "sc").partition("://")[0]))
        assert found.deploy_mode in (None, "client"), (name, where)
    assert kinds == {
        (SparkKind.CONNECT, "sc"),
        (SparkKind.CLUSTER, "spark"),
        (SparkKind.CLUSTER, "k8s"),
    }


def test_a_driver_owns_its_executors_where_it_can() -> None:
    def conf(name: str, group: str) -> dict[str, str]:
        [text] = [
            variables(pod["spec"]["containers"][0])["HEADWAY_CONN_SPARK_DEFAULT"]
            for where, pod in pods(rendered(name))
            if where.endswith(f"-worker-{group}")
        ]
        return json.loads(text)["extra"]["conf"]  # type: ignore[no-any-return]

    own, apart = conf("spark-on-kubernetes", "drivers"), conf("everything", "kubernetes")
    assert own["spark.kubernetes.driver.pod.name"] == "$(POD_NAME)"
    assert "spark.kubernetes.driver.pod.name" not in apart
    assert own["spark.executor.instances"] == "4"


def test_connections_have_the_names_that_workers_look_for() -> None:
    [pod] = [
        executor
        for where, executor in pods(rendered("everything"))
        if where.endswith("-worker-embedded")
    ]
    names = variables(pod["spec"]["containers"][0])

    assert variable_of(SecretKind.CONNECTION, "my.warehouse") in names
    assert variable_of(SecretKind.VARIABLE, "region") in names
    assert "HEADWAY_SECRETS_FOLDER" not in names


def test_both_containers_have_shared_folders_at_the_same_paths() -> None:
    for name in SETS:
        for where, pod in pods(rendered(name)):
            service, *others = pod["spec"]["containers"]
            paths = {mount["name"]: mount["mountPath"] for mount in service.get("volumeMounts", [])}
            for forker in others:
                shared = {
                    mount["name"]: mount["mountPath"]
                    for mount in forker["volumeMounts"]
                    if mount["name"] in paths
                }
                assert shared.items() <= paths.items(), where
                assert "forker" in shared
                assert "tmp" not in shared, "children of the fork server would see the service's"


def test_what_keeps_state_may_write_to_its_home() -> None:
    """A worker, and a parser of git: both refuse a home on the root file system, which is fixed."""
    found = set()
    for name, where, container in every_container():
        given = variables(container)
        if container["name"] == "worker" or '"git"' in given.get("HEADWAY_PARSER_BUNDLES", ""):
            mounts = {
                mount["mountPath"]: mount.get("readOnly", False)
                for mount in container["volumeMounts"]
            }
            assert mounts.get(given["HEADWAY_HOME"]) is False, (name, where)
            found.add(container["name"])
    assert found == {"parser", "worker"}


@pytest.mark.parametrize(
    ("kind", "measured"), [("none", ["forker"]), ("embedded", ["forker", "worker"])]
)
def test_an_hpa_looks_at_the_containers_that_work_for_attempts(
    tmp_path: Path, kind: str, measured: list[str]
) -> None:
    values = tmp_path / "values.yaml"
    group = f"{{name: default, spark: {{kind: {kind}}}, autoscaling: {{kind: hpa}}}}"
    values.write_text(f"workers: [{group}]")

    [hpa] = of_kind(render(SETS["least"], values), "HorizontalPodAutoscaler")

    assert [
        metric["containerResource"]["container"] for metric in hpa["spec"]["metrics"]
    ] == measured
    assert invalid([hpa]) == []


def test_names_that_look_like_numbers_stay_names(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("database: {name: '2013', owner: '1e3'}")

    objects = render(SETS["trial"], values)

    [postgres] = [pod for where, pod in pods(objects) if where.startswith("StatefulSet")]
    given = variables(postgres["spec"]["containers"][0])
    assert (given["POSTGRES_DB"], given["POSTGRES_USER"]) == ("2013", "1e3")
    assert invalid(objects) == []


def test_a_service_to_come_is_a_block_of_values_and_one_call(tmp_path: Path) -> None:
    later = tmp_path / "headway"
    shutil.copytree(CHART, later)
    (later / "values.schema.json").unlink()
    text = (later / "values.yaml").read_text()
    block = text[text.index("\nscheduler:") : text.index("\nparser:")]
    secret = "    scheduler:\n      # -- The Secret"
    text = text.replace(secret, f"    api: {{name: headway-api, key: password}}\n{secret}")
    (later / "values.yaml").write_text(text + block.replace("\nscheduler:", "\napi:"))
    (later / "templates/api.yaml").write_text(
        '{{- include "headway.service" (dict "root" $ "service" "api" "values" .Values.api) }}\n'
    )

    objects = render(SETS["least"], chart=later)

    new = [
        manifest for manifest in objects if manifest["metadata"]["name"] == "release-headway-api"
    ]
    assert {manifest["kind"] for manifest in new} == {
        *("Deployment", "PodDisruptionBudget", "ServiceAccount", "NetworkPolicy")
    }
    assert [*invalid(new), *violations(objects), *loose_ends(objects)] == []


def test_large_numbers_are_written_as_they_were(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(
        "uid: 1000650000\n"
        "migration: {ttlSecondsAfterFinished: 2592000}\n"
        "logs: {keepBytes: 21474836480}\n"
        "workers:\n"
        "  - name: default\n"
        "    drainGrace: 2000000\n"
        "    heartbeatInterval: 1.5\n"
        "    settings: {max_attempt_memory_bytes: 4294967296}\n"
    )

    objects = render(SETS["least"], values)

    [(_, worker)] = [pod for pod in pods(objects) if pod[0].endswith("-worker-default")]
    given = variables(worker["spec"]["containers"][0])
    assert given["HEADWAY_WORKER_DRAIN_GRACE"] == "2000000"
    assert given["HEADWAY_WORKER_HEARTBEAT_INTERVAL"] == "1.5"
    assert given["HEADWAY_WORKER_MAX_ATTEMPT_MEMORY_BYTES"] == "4294967296"
    assert given["HEADWAY_LOGS_KEEP_BYTES"] == "21474836480"
    assert worker["spec"]["terminationGracePeriodSeconds"] == 2000035
    assert worker["spec"]["securityContext"]["runAsUser"] == 1000650000
    [job] = of_kind(objects, "Job")
    assert job["spec"]["ttlSecondsAfterFinished"] == 2592000
    assert invalid(objects) == []
