"""What Airflow 1 and 2 had comes from the provider packages that have it now."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from headway.airflow_layer.gaps import AirflowGapError, Gap

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
