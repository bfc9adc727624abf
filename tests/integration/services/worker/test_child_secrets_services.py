"""Tasks hold no database credential: what one finds when it looks for it."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import URL, make_url

from headway.runtime.sandbox.trial import can_live_apart
from headway.testing.processes import task_processes
from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "secrets"


@dataclass(frozen=True)
class Above:
    """A process above a task, as root sees it."""

    command: str
    environment: str

    @classmethod
    def of(cls, pid: int) -> "Above":
        return cls(*(task_processes.shown(pid, what) for what in ("cmdline", "environ")))


def settled(task: int) -> list[Above]:
    """Return the processes above a task; an empty list while they are one too many.

    The process that has made the nanny's namespace stands between the nanny and the fork server.
    It may end after the task has begun.
    """
    above = [Above.of(pid) for pid in task_processes.ancestors(task)]
    forking = ["headway.runtime.forker children" in process.command for process in above]
    return above if forking == [True, True] + [False] * (len(above) - 2) else []


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home = tmp_path_factory.mktemp("secrets")
    with running_stack(home, DAGS, {"AWS_SECRET_ACCESS_KEY": "abc", "HARMLESS": "x"}) as stack:
        yield stack


@pytest.fixture(scope="module")
def looking(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> tuple[StackRun, list[Above]]:
    """A run, and what root saw of the processes above one of its tasks."""
    folder = tmp_path_factory.mktemp("looking")
    run = stack.trigger("looks_around", {"folder": str(folder)})
    file = folder / "itself"
    task = until(lambda: task_processes.find(file.read_text() if file.exists() else ""), "the task")
    above = until(lambda: settled(task), "nanny, fork server, worker")
    (folder / "go").touch()
    return run.wait(), above


@pytest.fixture(scope="module")
def run(looking: tuple[StackRun, list[Above]]) -> StackRun:
    return looking[0]


@pytest.fixture(scope="module")
def above(looking: tuple[StackRun, list[Above]]) -> list[Above]:
    return looking[1]


def address(stack: Stack, kind: str) -> URL:
    return make_url(stack.address_of(kind))


@pytest.fixture(scope="module")
def password(stack: Stack) -> str:
    """What the worker logs in with."""
    found = address(stack, "worker").password
    assert found is not None
    assert len(found) > 8
    return found


def test_each_service_has_a_credential_of_its_own(stack: Stack) -> None:
    addresses = {kind: address(stack, kind) for kind in ("parser", "scheduler", "worker")}
    addresses["user"] = make_url((stack.home / "database-url").read_text())

    assert {kind: url.username for kind, url in addresses.items()} == {
        kind: f"headway_{kind}" for kind in addresses
    }
    assert len({url.password for url in addresses.values()}) == len(addresses)


def test_a_task_s_environment_holds_no_secret(run: StackRun, password: str) -> None:
    itself: Any = run.xcom("itself")

    assert password not in str(itself)
    assert "HEADWAY_DATABASE_URL" not in str(itself)
    named = [name for name in itself["environment"] if name.startswith("HEADWAY_")]
    assert [name for name in named if not name.startswith("HEADWAY_CTX_")] == ["HEADWAY_ATTEMPT"]
    assert not {"AWS_SECRET_ACCESS_KEY", "HARMLESS"} & itself["environment"].keys()


def test_a_command_s_environment_holds_no_secret(run: StackRun, password: str) -> None:
    environment = str(run.xcom("command"))

    assert "PATH=" in environment
    assert password not in environment
    assert "HEADWAY_DATABASE_URL" not in environment


def test_a_task_has_its_log_and_one_socket_only(run: StackRun) -> None:
    itself: Any = run.xcom("itself")
    kinds = sorted(target.partition(":")[0] for target in itself["descriptors"].values())

    assert kinds == ["/dev/null", "pipe", "pipe", "socket"]


def test_the_processes_that_fork_tasks_hold_no_secret(above: list[Above], password: str) -> None:
    """The nanny and the fork server above a task: programs of their own, with clean hands."""
    nanny, forker, worker, *_ = above

    for process in (nanny, forker):
        assert "headway.runtime.forker" in process.command
        assert password not in str(process)
        assert "HEADWAY_DATABASE_URL" not in process.environment
    assert "headway.runtime.forker services" in worker.command


def test_nobody_sees_in_its_environment_what_a_service_logs_in_with(
    above: list[Above], password: str
) -> None:
    """It is told that over a socket: not even root reads it in /proc."""
    _nanny, _forker, worker, prefork, *_ = above

    for process in (worker, prefork):
        assert password not in str(process)
        assert "HEADWAY_DATABASE_URL" not in process.environment


def test_no_process_shows_the_secret_in_its_command_line(above: list[Above], password: str) -> None:
    assert not [process.command for process in above if password in process.command]


@pytest.mark.skipif(not can_live_apart(), reason="there is no PID namespace to be had")
def test_a_task_sees_itself_and_its_nanny_only(run: StackRun) -> None:
    commands: Any = run.xcom("others")

    assert len(commands) == 2
    assert all("headway.runtime.forker" in command for command in commands)
