"""`airflowctl`, the commands of Airflow that ask a REST API, as it is."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine
from tests.integration.api.conftest import PASSWORD, Airflow

from headway.db.execution import xcoms
from headway.runtime.settings.secret_keys import make_keys_file
from headway.testing.data import seed

pytest.importorskip("airflowctl")

RUN = "scheduled__2024-01-01T00:00:00+00:00"
FIRST, LAST = "2024-01-03T00:00:00+00:00", "2024-01-05T00:00:00+00:00"


@dataclass(frozen=True)
class Commands:
    """The commands, with a home of their own."""

    environment: Mapping[str, str]

    def run(self, *arguments: str, fails: bool = False) -> str:
        """Return what a command prints, which must end well, or badly."""
        ended = subprocess.run(
            [sys.executable, "-m", "airflowctl", *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        printed = ended.stdout + ended.stderr
        assert (ended.returncode != 0) is fails, printed
        return printed if fails else ended.stdout

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the rows that a command prints, below what else it says."""
        printed = self.run(*arguments)
        found: list[dict[str, Any]] = json.loads(printed[printed.index("[{") :])
        return found


@pytest.fixture
def commands(
    engine: Engine, airflow: Airflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Commands:
    """The commands of an admin who has logged in by a token, and a DAG with a run."""
    (tmp_path / "home").mkdir(exist_ok=True)
    make_keys_file(tmp_path / "home")
    [key] = seed.running(engine, seed.dag())
    with engine.begin() as conn:
        xcoms.push(conn, key, "return_value", 42)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        # Else it keeps tokens in a keyring, which the machines of tests do not have.
        "AIRFLOW_CLI_DEBUG_MODE": "true",
        "AIRFLOW_CLI_API_RETRIES": "1",
    }
    found = Commands(environment)
    token = airflow.api.token("ci")
    found.run("auth", "login", "--api-url", airflow.url, "--api-token", token)
    return found


def test_a_password_or_a_token_in_the_environment_will_do(
    commands: Commands, airflow: Airflow, tmp_path: Path
) -> None:
    airflow.api.account("ann")
    by_password = ["--username", "ann", "--password", PASSWORD]
    token = commands.run("auth", "token", "--api-url", airflow.url, *by_password).strip()
    other = Commands({**commands.environment, "AIRFLOW_HOME": str(tmp_path / "other")})

    other.run("auth", "login", "--api-url", airflow.url, *by_password)
    shown = Commands({**commands.environment, "AIRFLOW_CLI_TOKEN": token})

    assert token.startswith("hw_")
    assert [row["dag_id"] for row in other.rows("dags", "list")] == ["etl"]
    assert [row["dag_id"] for row in shown.rows("dags", "list")] == ["etl"]
    assert "'version'" in commands.run("version", "--remote")


@pytest.mark.long
def test_dags_are_shown_and_paused(commands: Commands) -> None:
    assert commands.rows("dags", "get", "etl")[0]["dag_id"] == "etl"
    assert commands.rows("dags", "get-details", "etl")[0]["active_runs_count"] == "1"
    assert commands.rows("dags", "list-version", "etl")[0]["version_number"] == "1"
    assert commands.rows("dags", "pause", "etl")[0]["is_paused"] == "True"
    assert commands.rows("dags", "unpause", "etl")[0]["is_paused"] == "False"
    assert "There is no DAG 'nothing'" in commands.run("dags", "get", "nothing", fails=True)


def test_a_dag_is_triggered_and_its_runs_are_shown(commands: Commands) -> None:
    [made] = commands.rows("dags", "trigger", "etl", "--dag-run-id", "mine", "--note", "why")

    assert (made["dag_run_id"], made["state"]) == ("mine", "queued")
    assert commands.rows("dagrun", "get", "etl", "mine")[0]["dag_run_id"] == "mine"
    [every] = commands.rows("dagrun", "list")
    [one] = commands.rows("dagrun", "list", "--dag-id", "etl", "--limit", "1")
    assert {run["dag_run_id"] for run in every["dag_runs"]} == {"mine", RUN}
    assert len(one["dag_runs"]) == 1
    assert "There is no DAG 'nothing'" in commands.run("dags", "trigger", "nothing", fails=True)


@pytest.mark.long
def test_xcoms_and_jobs_are_shown(commands: Commands) -> None:
    assert commands.rows("xcom", "list", "etl", RUN, "work")[0]["key"] == "return_value"
    assert commands.rows("xcom", "get", "etl", RUN, "work", "return_value")[0]["value"] == "42"
    assert commands.rows("jobs", "list")


@pytest.mark.long
def test_a_backfill_is_created_and_shown(commands: Commands) -> None:
    dates = ["--from-date", FIRST, "--to-date", LAST, "--reprocess-behavior", "none"]
    [made] = commands.rows(
        "backfill", "create", "--dag-id", "etl", *dates, "--max-active-runs", "2"
    )

    assert (made["max_active_runs"], made["is_paused"]) == ("2", "False")
    assert commands.rows("backfill", "list", "etl")[0]["id"] == made["id"]
    assert commands.rows("backfill", "get", made["id"])[0]["to_date"] == LAST.replace("+00:00", "Z")


@pytest.mark.long
def test_pools_are_created_changed_and_deleted(commands: Commands, tmp_path: Path) -> None:
    commands.run("pools", "create", "--name", "few", "--slots", "4", "--description", "Few.")
    assert commands.rows("pools", "update", "--pool", "few", "--slots", "5")[0]["slots"] == "5"
    assert commands.rows("pools", "get", "few")[0]["description"] == "Few."
    commands.run("pools", "export", str(tmp_path / "pools.json"))
    assert "few" in (tmp_path / "pools.json").read_text()
    commands.run("pools", "delete", "few")
    assert "few" not in commands.run("pools", "list")


@pytest.mark.long
def test_variables_and_connections_are_stored_and_their_values_are_hidden(
    commands: Commands,
) -> None:
    commands.run("variables", "create", "--key", "color", "--value", "canary")
    commands.run("variables", "update", "--key", "color", "--value", "canary-2")
    lake = ["--connection-id", "lake", "--conn-type", "http"]
    commands.run("connections", "create", *lake, "--host", "canary.example", "--password", "canary")
    commands.run("connections", "update", *lake, "--host", "canary-2.example")

    printed = [
        commands.run(group, *what)
        for group, name in (("variables", "color"), ("connections", "lake"))
        for what in (["list"], ["get", name])
    ]

    assert all("color" in it or "lake" in it for it in printed)
    assert "canary" not in "".join(printed)
    commands.run("variables", "delete", "color")
    commands.run("connections", "delete", "lake")


@pytest.mark.long
def test_what_headway_does_not_have_is_refused_by_a_status(commands: Commands) -> None:
    for refused in (["providers", "list"], ["plugins", "list"], ["assets", "list"]):
        assert "501 Not Implemented" in commands.run(*refused, fails=True)
