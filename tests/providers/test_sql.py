"""The SQL providers against a file of SQLite and a real Postgres."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.providers.conftest import RunDag

from headway.testing.database.postgres import ThrowawayPostgres

SOURCE = """
import pendulum
from airflow import DAG
from airflow.operators.python import PythonOperator
from airflow.providers.common.sql.operators.sql import (
    SQLCheckOperator, SQLColumnCheckOperator, SQLExecuteQueryOperator
)
from {module} import {hook}

def load(ds):
    hook = {hook}({argument}="shop")
    hook.insert_rows("sales", [(1, "a"), (2, "b'c")], target_fields=["n", "name"])
    print("rows:", hook.get_records("select n, name from sales order by n"))

with DAG(
    "d", start_date=pendulum.datetime(2024, 1, 1, tz="UTC"), schedule=None,
    default_args={{"conn_id": "shop"}},
):
    (
        SQLExecuteQueryOperator(task_id="create", sql="create.sql", split_statements=True)
        >> PythonOperator(task_id="load", python_callable=load)
        >> SQLExecuteQueryOperator(
            task_id="insert",
            sql="insert into sales values (%(n)s, '{{{{ ds }}}}')" if {pyformat}
            else "insert into sales values (:n, '{{{{ ds }}}}')",
            parameters={{"n": 3}},
        )
        >> SQLCheckOperator(task_id="check", sql="select count(*) = 3 from sales")
        >> SQLColumnCheckOperator(
            task_id="columns",
            table="sales",
            column_mapping={{"n": {{"max": {{"equal_to": {most}}}}}}},
        )
    )
"""
TABLE = "create table {{ 'sales' }} (n integer, name text);\nselect 1;\n"
SQLITE = ("airflow.providers.sqlite.hooks.sqlite", "SqliteHook", "sqlite_conn_id", False)
POSTGRES = ("airflow.providers.postgres.hooks.postgres", "PostgresHook", "postgres_conn_id", True)


def source(folder: Path, database: tuple[str, str, str, bool], most: int = 3) -> str:
    (folder / "dags").mkdir()
    (folder / "dags" / "create.sql").write_text(TABLE)
    module, hook, argument, pyformat = database
    return SOURCE.format(module=module, hook=hook, argument=argument, pyformat=pyformat, most=most)


def test_sqlite(run_dag: RunDag, tmp_path: Path) -> None:
    shop = {"conn_type": "sqlite", "host": str(tmp_path / "shop.db")}

    said = run_dag(source(tmp_path, SQLITE), shop=shop)

    assert "rows: [(1, 'a'), (2, \"b'c\")]" in said


def test_a_check_that_does_not_hold_fails_the_run(run_dag: RunDag, tmp_path: Path) -> None:
    shop = {"conn_type": "sqlite", "host": str(tmp_path / "shop.db")}

    said = run_dag(source(tmp_path, SQLITE, most=4), ends_well=False, shop=shop)

    assert "'success': False" in said


def test_postgres(run_dag: RunDag, tmp_path: Path, postgres: ThrowawayPostgres) -> None:
    address = urlsplit(postgres.create_database("shop"))
    shop = {
        "conn_type": "postgres",
        "host": address.hostname,
        "port": address.port,
        "login": address.username,
        "password": address.password,
        "schema": "shop",
    }

    said = run_dag(source(tmp_path, POSTGRES), shop={n: v for n, v in shop.items() if v})

    assert "rows: [(1, 'a'), (2, \"b'c\")]" in said


@pytest.mark.parametrize("conn_type", ["mongo"])
def test_a_type_without_a_hook_says_so(run_dag: RunDag, tmp_path: Path, conn_type: str) -> None:
    said = run_dag(source(tmp_path, SQLITE), ends_well=False, shop={"conn_type": conn_type})

    assert "no provider package that is installed here has a hook for it" in said
