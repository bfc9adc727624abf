"""What Airflow 1 and 2 had comes from the provider packages that have it now."""

import sys
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest

from headway import sdk
from headway.airflow_layer.gaps import AirflowGapError, Gap
from headway.airflow_layer.names import moved

ROWS = Path(moved.__file__).with_name("moved_classes.txt")
CHANGED = {
    "SimpleHttpOperator": "airflow.providers.http.operators.http:HttpOperator",
    "S3FileTransformOperator": "airflow.providers.amazon.aws.operators.s3:S3FileTransformOperator",
}
"""What current releases have under another name, or in another module."""

SQL = """
class SQLExecuteQueryOperator:
    def __init__(self, **options):
        self.options = options
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Write a module of a provider package."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name: str, source: str) -> None:
        file = tmp_path / "airflow" / "providers" / f"{name.replace('.', '/')}.py"
        file.parent.mkdir(parents=True)
        file.write_text(source)
        for folder in file.relative_to(tmp_path / "airflow" / "providers").parents[:-1]:
            (tmp_path / "airflow" / "providers" / folder / "__init__.py").touch()

    write.root = tmp_path  # type: ignore[attr-defined]
    yield write
    sys.modules.pop("headway.airflow_layer.tolerance.former_operators", None)


@pytest.mark.parametrize(
    ("module", "name", "distribution"),
    [
        ("airflow.hooks.mysql_hook", "MySqlHook", "mysql"),
        ("airflow.hooks", "PostgresHook", "postgres"),
        ("airflow.contrib.hooks.ssh_hook", "SSHHook", "ssh"),
        ("airflow.operators.hive_operator", "HiveOperator", "apache-hive"),
        ("airflow.operators.postgres_operator", "PostgresOperator", "common-sql"),
        ("airflow.contrib.operators.gcs_to_bq", "GoogleCloudStorageToBigQueryOperator", "google"),
        ("airflow.contrib.operators.discord_webhook_operator", "DiscordWebhookOperator", "discord"),
        ("airflow.contrib.operators.vertica_operator", "VerticaOperator", "vertica"),
        ("airflow.contrib.operators.s3_list_operator", "S3ListOperator", "amazon"),
        ("airflow.contrib.sensors.emr_step_sensor", "EmrStepSensor", "amazon"),
        ("airflow.operators.sql", "SQLCheckOperator", "common-sql"),
        ("airflow.macros.hive", "max_partition", "apache-hive"),
        ("airflow.sensors.http_sensor", "HttpSensor", "http"),
        (
            "airflow.contrib.operators.kubernetes_pod_operator",
            "KubernetesPodOperator",
            "cncf-kubernetes",
        ),
        (
            "airflow.providers.cncf.kubernetes.operators.kubernetes_pod",
            "KubernetesPodOperator",
            "cncf-kubernetes",
        ),
        ("airflow.contrib.kubernetes.secret", "Secret", "cncf-kubernetes"),
    ],
)
def test_the_package_is_named_where_it_is_not_installed(
    module: str, name: str, distribution: str
) -> None:
    with pytest.raises(AirflowGapError, match=f"install apache-airflow-providers-{distribution}."):
        getattr(import_module(module), name)


def test_an_old_name_is_that_of_the_package(package: Any) -> None:
    package("http.operators.http", "class HttpOperator: ...")

    old = import_module("airflow.operators.http_operator").SimpleHttpOperator

    assert old is import_module("airflow.providers.http.operators.http").HttpOperator


@pytest.mark.parametrize(
    ("name", "given", "made"),
    [
        ("PostgresOperator", {}, {"conn_id": "postgres_default", "hook_params": None}),
        (
            "PostgresOperator",
            {"postgres_conn_id": "shop", "database": "d", "sql": "s"},
            {"conn_id": "shop", "hook_params": {"database": "d"}, "sql": "s"},
        ),
        (
            "MySqlOperator",
            {"database": "d", "hook_params": {"charset": "utf8"}},
            {"conn_id": "mysql_default", "hook_params": {"schema": "d", "charset": "utf8"}},
        ),
        ("SqliteOperator", {}, {"conn_id": "sqlite_default", "hook_params": None}),
        (
            "MsSqlOperator",
            {"database": "d"},
            {"conn_id": "mssql_default", "hook_params": {"schema": "d"}},
        ),
        ("JdbcOperator", {"jdbc_conn_id": "j"}, {"conn_id": "j", "hook_params": None}),
        (
            "SnowflakeOperator",
            {"warehouse": "w", "role": "r"},
            {"conn_id": "snowflake_default", "hook_params": {"warehouse": "w", "role": "r"}},
        ),
    ],
)
def test_a_former_operator_of_sql_is_the_one_of_all_databases(
    package: Any, name: str, given: dict[str, Any], made: dict[str, Any]
) -> None:
    package("common.sql.operators.sql", SQL)
    former = import_module("headway.airflow_layer.tolerance.former_operators")

    assert getattr(former, name)(**given).options == made


def test_a_release_that_has_dropped_a_class_is_named(
    package: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    package("discord.operators.discord_webhook", "")
    monkeypatch.setattr(metadata, "version", lambda name: "3.9.1")
    said = (
        r"airflow\.providers\.discord\.operators\.discord_webhook\.DiscordWebhookOperator: "
        r"apache-airflow-providers-discord 3\.9\.1 is installed here, and has nothing"
    )

    with pytest.raises(AirflowGapError, match=said) as raised:
        import_module("airflow.contrib.operators.discord_webhook_operator").DiscordWebhookOperator  # noqa: B018

    assert raised.value.gap is Gap.RELEASE


def test_each_row_of_the_file_is_given() -> None:
    rows = [line.split() for line in ROWS.read_text().splitlines() if not line.startswith("#")]

    for module, name, target in rows:
        home, _, new = target.rpartition(".")
        found = moved.MODULES[f"airflow.{module}"].get(name)
        is_ours = found is not None and found.startswith("headway.airflow_layer.")
        assert is_ours or found in (f"airflow.providers.{home}:{new}", CHANGED.get(name)), name
    assert len(rows) > 600


def test_headways_own_operator_comes_before_that_of_a_package() -> None:
    module = import_module("airflow.contrib.operators.spark_submit_operator")

    assert issubclass(module.SparkSubmitOperator, sdk.SparkSubmitOperator)


KUBERNETES = """
class _Model:
    def __init__(self, **fields):
        self.fields = fields
V1Volume = V1VolumeMount = V1ContainerPort = V1EnvVar = V1EnvVarSource = _Model
V1ObjectFieldSelector = V1ResourceRequirements = _Model
for name in "V1Volume V1VolumeMount V1ContainerPort V1EnvVar V1ResourceRequirements".split():
    globals()[name] = type(name, (_Model,), {})
"""


@pytest.fixture
def _kubernetes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a client of Kubernetes that keeps what its models are made from."""
    (tmp_path / "kubernetes" / "client").mkdir(parents=True)
    (tmp_path / "kubernetes" / "__init__.py").touch()
    (tmp_path / "kubernetes" / "client" / "__init__.py").touch()
    (tmp_path / "kubernetes" / "client" / "models.py").write_text(KUBERNETES)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in [*sys.modules]:
        if name.partition(".")[0] == "kubernetes" or name.endswith(".former_kubernetes"):
            del sys.modules[name]


@pytest.mark.usefixtures("_kubernetes")
@pytest.mark.parametrize("folder", ["airflow.kubernetes", "airflow.contrib.kubernetes"])
def test_parts_of_pods_are_those_of_the_client(folder: str) -> None:
    def made(module: str, name: str, *args: object, **given: object) -> tuple[str, object]:
        found = getattr(import_module(f"{folder}.{module}"), name)
        return found.__mro__[1].__name__, found(*args, **given).fields

    assert made("volume", "Volume", "data", {"hostPath": {"path": "/d"}}) == (
        "V1Volume",
        {"name": "data", "host_path": {"path": "/d"}},
    )
    assert made("volume_mount", "VolumeMount", "data", "/d", None, True) == (
        "V1VolumeMount",
        {"name": "data", "mount_path": "/d", "sub_path": None, "read_only": True},
    )
    assert made("pod", "Port", "web", 80) == (
        "V1ContainerPort",
        {"name": "web", "container_port": 80},
    )
    amounts = {"request_memory": "1Gi", "limit_ephemeral_storage": "2Gi", "limit_gpu": 1}
    assert made("pod", "Resources", **amounts, limit_cpu=None) == (
        "V1ResourceRequirements",
        {
            "requests": {"memory": "1Gi"},
            "limits": {"ephemeral-storage": "2Gi", "nvidia.com/gpu": 1},
        },
    )
    kind, variable = made("pod_runtime_info_env", "PodRuntimeInfoEnv", "IP", "status.podIP")
    assert kind == "V1EnvVar"
    assert variable["name"] == "IP"  # type: ignore[index]
    assert variable["value_from"].fields["field_ref"].fields == {"field_path": "status.podIP"}  # type: ignore[index]
    with pytest.raises(TypeError, match="no argument 'memory'"):
        made("pod", "Resources", memory="1Gi")


def test_a_release_that_has_the_operator_is_taken_as_it_is(package: Any) -> None:
    package("common.sql.operators.sql", SQL)
    package("postgres.operators.postgres", "PostgresOperator = 'installed'")

    module = import_module("airflow.providers.postgres.operators.postgres")

    assert module.PostgresOperator == "installed"


def test_a_release_that_has_it_no_longer_is_helped_out(package: Any) -> None:
    package("common.sql.operators.sql", SQL)
    package("postgres.hooks.postgres", "")

    found = import_module("airflow.providers.postgres.operators.postgres").PostgresOperator

    assert found(sql="s").options["conn_id"] == "postgres_default"


HTTP = """
import inspect

class HttpOperator: ...

source = inspect.getsource(HttpOperator)
"""


def installed(root: Path, name: str, version: str) -> None:
    folder = root / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def test_a_former_class_of_an_installed_module_is_the_present_one(package: Any) -> None:
    package("http.operators.http", HTTP)

    module = import_module("airflow.providers.http.operators.http")
    found: dict[str, Any] = {}
    exec("from airflow.providers.http.operators.http import SimpleHttpOperator", found)

    assert found["SimpleHttpOperator"] is module.HttpOperator
    assert module.source.startswith("class HttpOperator")
    assert module.__spec__ is not None
    assert module.__loader__ is module.__spec__.loader


def test_a_class_that_the_release_still_has_is_taken_as_it_is(package: Any) -> None:
    package("http.operators.http", "SimpleHttpOperator = 'installed'")

    assert import_module("airflow.providers.http.operators.http").SimpleHttpOperator == "installed"


@pytest.mark.parametrize(
    "statement",
    [
        "from airflow.providers.http.operators.http import Nothing",
        "from airflow.providers.http.operators.nothing import Nothing",
        "from airflow.providers.http.operators import nothing",
        "from airflow.operators.http_operator import SimpleHttpOperator",
    ],
)
def test_what_an_installed_release_lacks_is_told_with_its_version(
    package: Any, statement: str
) -> None:
    package("http.operators.http", "")
    installed(package.root, "apache-airflow-providers-http", "6.3.0")
    said = r"airflow\.providers\.http\.operators\..*: apache-airflow-providers-http 6\.3\.0 is ins"

    with pytest.raises(AirflowGapError, match=said) as raised:
        exec(statement, {})

    assert raised.value.gap is Gap.RELEASE


def test_whoever_asks_whether_a_module_has_a_name_is_answered(package: Any) -> None:
    package("http.operators.http", HTTP)
    module = import_module("airflow.providers.http.operators.http")

    assert not hasattr(module, "Nothing")
    assert getattr(module, "Nothing", 3) == 3
