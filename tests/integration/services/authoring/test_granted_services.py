"""Connections and variables through the real services: what arrives, and where it never shows."""

import json
import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from headway.db.access.grants_matrix import UNREAD
from headway.db.schema import METADATA
from headway.runtime.processes.linux import processes
from headway.testing.database import rows
from headway.testing.processes import task_processes
from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "granted"

# Of this process alone: another one may run the same tests beside it.
MARK = token_hex(4)
PASSWORD = f"canary/pa?ss:{MARK}"
TOKEN = f"canary-token-{MARK}"
PROVIDED = f"canary-provided-{MARK}"
MOUNTED = f"canary-mounted-{MARK}"
VARIABLE = f"canary-variable-{MARK}"
ALL = (PASSWORD, TOKEN, PROVIDED, MOUNTED, VARIABLE)


def hash_of(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home, folder = tmp_path_factory.mktemp("granted"), tmp_path_factory.mktemp("mounted")
    (folder / "variables").mkdir()
    (folder / "variables" / "mounted").write_text(f"{MOUNTED}\n")
    given = {
        "HEADWAY_CONN_PROVIDED": f"http://me:{PROVIDED}@host",
        "HEADWAY_SECRETS_FOLDER": str(folder),
    }
    with running_stack(home, DAGS, given) as stack:
        stored = {"conn_type": "http", "host": "host.example", "password": PASSWORD}
        add(stack, folder, "connections add stored", {**stored, "extra": {"token": TOKEN}})
        add(stack, folder, "variables set stored", VARIABLE)
        add(stack, folder, "variables set backwards", [secret[::-1] for secret in ALL])
        do(stack, "variables set plain visible --plain")
        do(stack, "connections grant stored granted")
        do(stack, "connections grant provided granted")
        for key in ("stored", "mounted", "plain", "backwards"):
            do(stack, f"variables grant {key} granted")
        yield stack


def do(stack: Stack, command: str) -> str:
    done = stack.headway(*command.split())
    assert done.returncode == 0, done.stderr
    return done.stdout


def add(stack: Stack, folder: Path, command: str, value: object) -> None:
    file = folder / "given"
    file.write_text(value if isinstance(value, str) else json.dumps(value))
    do(stack, f"{command} --from {file}")
    file.unlink()


@pytest.fixture(scope="module")
def run(stack: Stack) -> StackRun:
    return stack.run("granted")


@pytest.fixture(scope="module")
def stranger(stack: Stack) -> StackRun:
    return stack.run("stranger")


def test_a_task_gets_what_its_dag_is_granted_from_everywhere(run: StackRun) -> None:
    assert run.states() == {
        "reads": "success", "slips": "success", "raises": "failed", "looks_around": "success",
        "in_a_template": "success",
    }  # fmt: skip
    assert run.xcom("reads") == {
        "password": hash_of(PASSWORD),
        "token": hash_of(TOKEN),
        "environment": hash_of(PROVIDED),
        "mounted": hash_of(MOUNTED),
        "variable": hash_of(VARIABLE),
        "plain": "visible",
        "host": "host.example",
    }


def test_a_log_shows_none_of_it(run: StackRun) -> None:
    log = run.log("slips")

    assert not [secret for secret in ALL if secret in log]
    for line in ("password ***", "variable ***", "plain visible", "*** in pieces", "error ***"):
        assert line in log
    assert "host='host.example'" in log
    assert 'json {"password": "***"}' in log
    assert "given ***" in run.log("in_a_template")
    assert "host.example visible" in run.log("in_a_template")


def test_an_exception_shows_none_of_it(run: StackRun) -> None:
    assert run.attempt("raises").error == "ValueError: could not log in with ***"
    assert PASSWORD not in run.log("raises")
    assert "raise ValueError" in run.log("raises")


def test_no_environment_and_no_command_line_shows_any_of_it(run: StackRun) -> None:
    """Neither to a task nor to us; but root sees all, and so what a user has given to all."""
    task_saw: Any = run.xcom("looks_around")
    we_see = list(shown())

    found = [*map(tuple, task_saw), *we_see]
    assert [
        place for place in found if place[0] != "environ" or " standalone " not in place[1]
    ] == []
    assert bool(we_see) == (os.geteuid() == 0)


def shown() -> Iterator[tuple[str, str]]:
    """Yield in what of which of the processes here a secret stands."""
    for pid in processes():
        for what in ("cmdline", "environ"):
            there = task_processes.shown(pid, what)
            if any(secret in there for secret in ALL):
                yield what, task_processes.shown(pid, "cmdline")


@pytest.mark.regression
@pytest.mark.parametrize(
    ("task_id", "what"),
    [
        ("asks_for_a_connection", "connection 'stored'"),
        ("asks_for_what_is_in_the_environment", "connection 'provided'"),
        ("asks_for_a_variable", "variable 'stored'"),
    ],
)
def test_another_dag_gets_none_of_it(stranger: StackRun, task_id: str, what: str) -> None:
    """The tasks have retries, which are not used: a refusal does not change by itself."""
    assert stranger.states()[task_id] == "failed"
    error = str(stranger.attempt(task_id).error)
    assert f"DAG 'stranger' may not read the {what}" in error
    assert error.endswith("The task is not tried again, for this would be refused again.")


def test_what_nobody_has_set_has_its_default(stranger: StackRun) -> None:
    assert stranger.xcom("asks_for_nothing") == "a default"


def test_nothing_that_is_kept_shows_any_of_it(
    stack: Stack, run: StackRun, stranger: StackRun
) -> None:
    kept: dict[str, Any] = {
        "tasks": do(stack, f"tasks list granted {run.run_id} -o json"),
        "events": do(stack, "events -o json"),
        "connections": do(stack, "connections list -o json"),
        "settings": do(stack, "settings -o json"),
    }
    logs = [*(stack.home / "services").rglob("*"), *(stack.home / "logs").rglob("*")]
    for file in (*logs, stack.home / "standalone.log", stack.home / "postgres" / "server.log"):
        if file.is_file():
            kept[str(file)] = file.read_bytes().decode(errors="replace")
    with stack.engine.connect() as conn:
        for table in set(METADATA.tables) - {"secret"} - UNREAD:
            kept[table] = rows.as_text(conn, table)

    assert len(kept) > 20
    assert [
        (name, secret) for name, content in kept.items() for secret in ALL if secret in content
    ] == []


def test_the_key_file_is_for_its_user_alone(stack: Stack) -> None:
    assert (stack.home / "secret-keys").stat().st_mode & 0o777 == 0o600
