"""A file that imports real provider packages gives the same where they are preloaded."""

from pathlib import Path

import pytest
from tests.integration.parser.test_preloaded_parses import both, folder, pool

from headway_parser.parse.processor_pool import ProcessorPool

__all__ = ["folder", "pool"]

IMPORTS = {
    "http": "from airflow.providers.http.operators.http import HttpOperator",
    "common_sql": "from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator",
    "sqlite": "from airflow.providers.sqlite.hooks.sqlite import SqliteHook",
    "postgres": "from airflow.providers.postgres.hooks.postgres import PostgresHook",
    "amazon": "from airflow.providers.amazon.aws.operators.s3 import S3ListOperator",
    "slack": "from airflow.providers.slack.operators.slack import SlackAPIPostOperator",
    "ssh": "from airflow.providers.ssh.operators.ssh import SSHOperator",
    "databricks": (
        "from airflow.providers.databricks.operators.databricks import DatabricksRunNowOperator"
    ),
}
SOURCE = """
{imports}
from airflow import DAG
from airflow.operators.bash import BashOperator

with DAG("{name}", schedule="@daily", default_args={{"owner": "{name}", "nobody_takes": 1}}):
    BashOperator(task_id="a", bash_command="true", provide_context=True)
    {more}
"""
MORE = {
    "http": 'HttpOperator(task_id="h", endpoint="x", method="GET", http_conn_id="c")',
    "common_sql": 'SQLExecuteQueryOperator(task_id="s", sql="select 1", conn_id="c")',
    "amazon": 'S3ListOperator(task_id="l", bucket="b", prefix="p")',
}


def write(folder: Path, name: str, imports: str) -> str:
    """Write a DAG file; return its path in the bundle."""
    source = SOURCE.format(imports=imports, name=name, more=MORE.get(name.removeprefix("dag_"), ""))
    (folder / "dags" / f"{name}.py").write_text(source)
    return f"{name}.py"


@pytest.mark.parametrize("name", sorted(IMPORTS))
def test_a_provider_is_preloaded_and_changes_nothing(
    pool: ProcessorPool, folder: Path, name: str
) -> None:
    path = write(folder, f"dag_{name}", IMPORTS[name])

    ((alone, preloaded),) = both(pool, folder, path)

    assert alone.notes
    assert preloaded == alone


def test_all_of_them_are_preloaded_together(pool: ProcessorPool, folder: Path) -> None:
    paths = [write(folder, f"dag_{name}", line) for name, line in IMPORTS.items()]

    for alone, preloaded in both(pool, folder, *paths):
        assert preloaded == alone
