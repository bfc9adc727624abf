"""What the commands say of params, and of a conf that they do not allow."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from headway.cli.input import session
from headway.cli.main import app
from headway.domain.arguments import JsonValue
from headway.domain.dag.param_schema import ParamSchema
from headway.domain.errors import RequestError
from headway.testing.data import seed

SCHEMA: dict[str, JsonValue] = {"type": "integer", "maximum": 9}
DAG = replace(
    seed.dag(),
    params={"city": "Oslo", "limit": 3},
    param_schemas=(
        ParamSchema(name="limit", schema=SCHEMA, description="How many rows"),
        ParamSchema(name="day", schema={"type": "string", "format": "date"}),
        ParamSchema(name="city"),
    ),
)
FILE = """
from headway.sdk import DAG, Param, EmptyOperator

with DAG("etl", params={"limit": Param(3, type="integer")}):
    EmptyOperator(task_id="work")
"""


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch, database_url: str) -> None:
    """The commands reach the database of the test."""
    monkeypatch.setattr(session, "database_url", lambda: database_url)


def say(*arguments: str) -> str:
    return CliRunner().invoke(app, list(arguments), catch_exceptions=False).stdout


def test_params_are_listed_and_no_run_is_made(engine: Engine) -> None:
    seed.store(engine, DAG)

    lines = [
        line.split("  ") for line in say("dags", "trigger", "etl", "--help-params").split("\n")
    ]
    rows = [[cell.strip() for cell in line if cell] for line in lines]
    found = json.loads(say("dags", "trigger", "etl", "--help-params", "-o", "json"))

    assert rows[:4] == [
        ["name", "type", "default", "description"],
        ["limit", "a whole number", "3", "How many rows"],
        ["day", "text", "(required)"],
        ["city", "text", '"Oslo"'],
    ]
    assert [(row["name"], row["default"], row["required"]) for row in found] == [
        ("limit", 3, False),
        ("day", None, True),
        ("city", "Oslo", False),
    ]
    assert found[0]["schema"] == SCHEMA
    assert runs(engine) == 0


@pytest.mark.parametrize(
    ("conf", "said"),
    [
        ({"day": "2024-01-01", "limit": 10}, "DAG etl: param 'limit' is 10 and must be at most 9"),
        ({"limit": 1}, "DAG etl: param 'day' has no value and must have one"),
        ({"day": "2024-01-01", "limt": 1}, "DAG etl has no param 'limt' for 1; did you mean limit"),
    ],
)
def test_a_conf_that_does_not_fit_makes_no_run(
    engine: Engine, conf: dict[str, object], said: str
) -> None:
    seed.store(engine, DAG)
    dates = ("--from", "2024-01-01", "--to", "2024-01-02", "--no-wait")

    for command in (("dags", "trigger", "etl"), ("backfill", "create", "etl", *dates)):
        with pytest.raises(RequestError, match=said):
            say(*command, "--conf", json.dumps(conf))
    assert runs(engine) == 0


def test_a_conf_that_fits_makes_one(engine: Engine) -> None:
    seed.store(engine, DAG)
    say("dags", "trigger", "etl", "--conf", '{"day": "2024-01-01"}')
    assert runs(engine) == 1


def test_a_dag_is_not_tested_with_a_conf_that_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "etl.py").write_text(FILE)

    with pytest.raises(RequestError, match="param 'limit' is 'x' and must be a whole number"):
        say("dags", "test", str(tmp_path / "etl.py"), "etl", "--conf", '{"limit": "x"}')


def runs(engine: Engine) -> int:
    with engine.connect() as conn:
        return int(conn.scalar(text("SELECT count(*) FROM dag_run")) or 0)
