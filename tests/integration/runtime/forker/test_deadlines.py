"""A child ends at its deadline, whichever one of supervisor, fork server and nanny is stopped."""

import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import Child, ChildLimits, ChildSpec, Exit, Forker, ForkerError, client
from headway.runtime.processes.frames import receive_frame, send_frame, send_message
from headway.runtime.sandbox.trial import can_live_apart
from headway.testing.processes.task_processes import find

LONG = 30.0
SHORT = 1.5
HERE = Path(__file__).parents[2]
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE)}
CLOCK = SystemClock()
PASSED = Exit(lost="Its deadline passed without being moved; it was killed.")
UNSHARE = (
    *(shutil.which("unshare") or "unshare", "--time", "--boottime", "1000000"),
    *("--fork", "--kill-child"),
)


@pytest.fixture(params=["below", "apart"])
def forker(request: pytest.FixtureRequest) -> Iterator[Forker]:
    """A fork server whose children's trees are below it only, or in PID namespaces as well."""
    apart = request.param == "apart"
    if apart and not can_live_apart():
        pytest.skip("there is no PID namespace to be had")
    with Forker.start(["forker_targets"], ENVIRONMENT, apart=apart) as started:
        yield started


def start(
    forker: Forker, seconds: float, *, until_told: bool = False
) -> tuple[Child, list[int], int]:
    """Start a tree that may live so long; return its processes and its nanny's."""
    log = os.open(os.devnull, os.O_WRONLY)
    limits = ChildLimits(until=CLOCK.monotonic() + seconds)
    argument = {"until_told": until_told}
    spec = ChildSpec(target="forker_targets:hang", argument=argument, limits=limits)
    child = forker.spawn(spec, log)
    os.close(log)
    frame = receive_frame(child.channel)
    assert frame is not None
    here = [find(f"{pid} {frame['namespace']}") for pid in [frame["nanny"], *frame["pids"]]]
    nanny, *pids = [pid for pid in here if pid is not None]
    assert len(pids) == 4
    return child, pids, nanny


def alive(pids: list[int]) -> list[int]:
    def is_alive(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except OSError:
            return False

    return [pid for pid in pids if is_alive(pid)]


def eventually(condition: Callable[[], bool], seconds: float = LONG) -> bool:
    deadline = CLOCK.monotonic() + seconds
    while not condition():
        if CLOCK.monotonic() > deadline:
            return False
        CLOCK.wait(Event(), 0.02)
    return True


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_the_nanny_kills_a_tree_whose_deadline_is_not_moved(forker: Forker) -> None:
    child, pids, _ = start(forker, SHORT)

    assert child.wait(LONG) == PASSED
    assert alive(pids) == []


def test_a_deadline_that_is_moved_holds_from_then_on(forker: Forker) -> None:
    child, pids, _ = start(forker, LONG)
    child.hold_until(CLOCK.monotonic() + 2 * LONG)
    assert child.wait(1.5) is None
    assert alive(pids) == pids

    child.hold_until(CLOCK.monotonic() + 0.2)

    assert child.wait(LONG) == PASSED
    assert alive(pids) == []


def test_the_next_child_of_a_nanny_has_a_deadline_of_its_own(forker: Forker) -> None:
    first, _, nanny = start(forker, 2 * SHORT, until_told=True)
    send_frame(first.channel, {})
    assert first.wait(LONG) == Exit(code=0)
    first.close()

    second, pids, its_nanny = start(forker, LONG)

    assert its_nanny == nanny
    assert second.wait(3 * SHORT) is None, "the first deadline has passed meanwhile"
    second.hold_until(CLOCK.monotonic())
    assert second.wait(LONG) == PASSED
    assert alive(pids) == []


def test_one_whose_deadline_has_passed_is_not_started(forker: Forker) -> None:
    log = os.open(os.devnull, os.O_WRONLY)
    limits = ChildLimits(until=CLOCK.monotonic() - 1)
    child = forker.spawn(ChildSpec(target="forker_targets:hang", limits=limits), log)
    os.close(log)

    assert child.wait(LONG) == Exit(lost="Its deadline had passed; it was not started.")
    assert receive_frame(child.channel) is None


@pytest.mark.regression
def test_with_the_supervisor_stopped_the_nanny_kills_the_tree_at_its_deadline() -> None:
    with subprocess.Popen(
        [sys.executable, HERE / "forker_supervisor.py", "3"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
    ) as supervisor:
        assert supervisor.stdout is not None
        forker, first_nanny, *pids = json.loads(supervisor.stdout.readline())
        trees = [*pids[:4], *pids[5:]]
        with stopped(supervisor.pid):
            assert eventually(lambda: alive(trees) == [])
            assert alive([forker, first_nanny]) == [forker, first_nanny]
        supervisor.kill()


@pytest.mark.regression
def test_with_the_fork_server_stopped_the_nanny_kills_the_tree_at_its_deadline(
    forker: Forker,
) -> None:
    child, pids, _ = start(forker, 2 * SHORT)
    with stopped(forker.pid):
        child.hold_until(CLOCK.monotonic() + SHORT)

        assert child.wait(LONG) == PASSED
        assert alive(pids) == []


@pytest.mark.regression
def test_with_the_nanny_stopped_the_fork_server_kills_the_tree(forker: Forker) -> None:
    """At once: a nanny that is stopped enforces no deadline."""
    child, pids, nanny = start(forker, LONG)

    os.kill(nanny, signal.SIGSTOP)

    assert child.wait(LONG / 2) == Exit(lost="Its nanny died, and the child was killed.")
    assert alive(pids) == []


def in_a_time_namespace(program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a program on a machine whose CLOCK_BOOTTIME is not CLOCK_MONOTONIC."""
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-c", program, *arguments],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=2 * LONG,
        check=False,
    )
    if "unshare" in done.stderr and done.returncode != 0:
        pytest.skip(f"there is no time namespace to be had: {done.stderr}")
    return done


@pytest.mark.regression
def test_time_during_which_the_machine_was_suspended_counts() -> None:
    """The namespace has a boot clock that is ahead, as one is that was suspended for long."""
    done = in_a_time_namespace(
        "import os, time, json\n"
        "from headway.runtime.daemon.clock import SystemClock\n"
        "from headway.runtime.forker import ChildSpec, Forker, ChildLimits\n"
        "now = SystemClock().monotonic()\n"
        "boot = time.clock_gettime(time.CLOCK_BOOTTIME)\n"
        "print(abs(now - boot) < 1, now - time.monotonic() > 9e5)\n"
        "with Forker.start(['forker_targets'], dict(os.environ)) as forker:\n"
        "    limits = ChildLimits(until=now + 1.5)\n"
        "    child = forker.spawn(ChildSpec(target='forker_targets:hang', limits=limits), 2)\n"
        "    print(child.wait(20).lost)\n"
    )

    assert done.stdout == f"True True\n{PASSED.lost}\n", done.stderr


def test_a_fork_server_that_answers_at_once_has_no_other_clock(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def send_and_see_the_answer(control: socket.socket, frame: bytes) -> None:
        send_message(control, frame)
        select.select([control], [], [], LONG)

    monkeypatch.setattr(client, "send_message", send_and_see_the_answer)
    with Forker.start(["forker_targets"], ENVIRONMENT) as started:
        assert started.isolation is None


def test_a_fork_server_in_another_time_namespace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    command = ["headway.cli", "forker", "--socket", str(path), "--for", "worker"]
    server: Any = subprocess.Popen([*UNSHARE, sys.executable, "-m", *command], env=ENVIRONMENT)
    try:
        if not eventually(lambda: path.exists() or server.poll() is not None) or server.poll():
            pytest.skip("there is no time namespace to be had")
        with pytest.raises(ForkerError, match="a time namespace of its own"):
            Forker.connect(path)
    finally:
        server.kill()
        server.wait(LONG)
