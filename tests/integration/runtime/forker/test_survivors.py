"""Nothing of a child survives, whoever dies first."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import SHUT_WR, socketpair
from threading import Event

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import Child, ChildSpec, Exit, Forker, ForkerError
from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.runtime.sandbox.trial import can_live_apart
from headway.testing.processes.task_processes import find

LONG = 20.0
HERE = Path(__file__).parents[2]
PROGRAM = (sys.executable, "-P", "-m", "headway.runtime.forker", "children")
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE)}


@pytest.fixture(params=["below", "apart"])
def forker(request: pytest.FixtureRequest) -> Iterator[Forker]:
    """A fork server whose children's trees are below it only, or in PID namespaces as well."""
    apart = request.param == "apart"
    if apart and not can_live_apart():
        pytest.skip("there is no PID namespace to be had")
    with Forker.start(["forker_targets"], ENVIRONMENT, apart=apart) as started:
        yield started


def start(forker: Forker, function: str, **argument: object) -> Child:
    log = os.open(os.devnull, os.O_WRONLY)
    child = forker.spawn(ChildSpec(target=f"forker_targets:{function}", argument=argument), log)
    os.close(log)
    return child


def told(child: Child) -> Frame:
    """Return what a child tells, with the processes as they are called here, but for dead ones."""
    frame = receive_frame(child.channel)
    assert frame is not None
    here = {pid: find(f"{pid} {frame['namespace']}") for pid in frame["pids"]}
    nanny = find(f"{frame['nanny']} {frame['namespace']}") if "nanny" in frame else None
    return {"pids": [pid for pid in here.values() if pid is not None], "nanny": nanny}


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def survivors(pids: list[int]) -> list[int]:
    return [pid for pid in pids if alive(pid)]


def eventually(condition: Callable[[], bool]) -> bool:
    clock = SystemClock()
    deadline = clock.monotonic() + LONG
    while not condition():
        if clock.monotonic() > deadline:
            return False
        clock.wait(Event(), 0.02)
    return True


def test_a_child_that_ends_leaves_nothing_behind(forker: Forker) -> None:
    child = start(forker, "hang", stay=False)
    pids = told(child)["pids"]

    assert child.wait(LONG) == Exit(code=0)
    assert survivors(pids) == []


def test_the_log_ends_only_with_the_last_of_the_tree(forker: Forker) -> None:
    reader, writer = os.pipe()
    child = forker.spawn(ChildSpec(target="forker_targets:hang", argument={"stay": False}), writer)
    os.close(writer)

    assert child.wait(LONG) == Exit(code=0)
    assert select.select([reader], [], [], LONG)[0]
    assert os.read(reader, 1) == b""
    os.close(reader)


def test_a_process_that_flees_by_forking_is_caught(forker: Forker) -> None:
    child = start(forker, "flee")

    assert child.wait(LONG) == Exit(code=0)


def test_a_child_that_obeys_ends_within_its_grace(
    forker: Forker, request: pytest.FixtureRequest
) -> None:
    child = start(forker, "wait_for_end")
    pids = told(child)["pids"]
    if request.node.callspec.params["forker"] == "apart":
        pids[0] = None  # which would mean another process here
    else:  # the nanny's word may come after the child's
        assert select.select([child], [], [], LONG)[0]
    assert child.poll() is None
    assert child.pid == pids[0]

    child.stop(grace_seconds=1000)

    assert child.wait(LONG) == Exit(signal=signal.SIGTERM)


def test_a_stop_that_comes_before_the_child_is_set_up_is_not_lost(forker: Forker) -> None:
    for _ in range(20):
        child = start(forker, "wait_for_end")
        child.stop(grace_seconds=1000)
        assert child.wait(LONG) == Exit(signal=signal.SIGTERM)
        child.close()


def test_a_child_that_does_not_obey_is_killed_after_its_grace(forker: Forker) -> None:
    child = start(forker, "hang")
    pids = told(child)["pids"]

    child.stop(grace_seconds=3.0)

    assert child.wait(0.1) is None
    assert len(survivors(pids)) == 4
    assert child.wait(LONG) == Exit(signal=signal.SIGKILL)
    assert survivors(pids) == []


def test_a_kill_does_not_wait_for_an_earlier_grace(forker: Forker) -> None:
    child = start(forker, "hang")
    pids = told(child)["pids"]

    child.stop(grace_seconds=1000)
    child.kill()

    assert child.wait(LONG) == Exit(signal=signal.SIGKILL)
    assert survivors(pids) == []


def test_a_kill_that_comes_before_the_child_is_set_up_is_not_lost(forker: Forker) -> None:
    for _ in range(20):
        child = start(forker, "wait_for_end")
        child.kill()
        assert child.wait(LONG) == Exit(signal=signal.SIGKILL)
        child.close()


def test_a_second_stop_does_not_prolong_the_grace(forker: Forker) -> None:
    child = start(forker, "hang")
    told(child)

    child.stop(grace_seconds=0.1)
    child.stop(grace_seconds=1000)

    assert child.wait(LONG) == Exit(signal=signal.SIGKILL)


def test_letting_go_of_a_child_kills_it_and_keeps_no_file_of_it(forker: Forker) -> None:
    files = Path(f"/proc/{forker.pid}/fd")
    before = len(list(files.iterdir()))
    child = start(forker, "hang")
    pids = told(child)["pids"]

    child.close()

    assert child.channel.fileno() == -1
    assert eventually(lambda: survivors(pids) == [])
    assert eventually(lambda: len(list(files.iterdir())) == before)


def test_a_nanny_raises_the_next_child_and_heeds_no_late_order(forker: Forker) -> None:
    first = start(forker, "hang", stay=False)
    found = told(first)
    assert eventually(lambda: survivors(found["pids"][:1]) == [])
    first.stop(grace_seconds=0)  # crosses the news of the end
    assert first.wait(LONG) == Exit(code=0)
    first.close()

    second = start(forker, "hang")

    assert told(second)["nanny"] == found["nanny"]
    assert second.wait(0.2) is None
    second.close()


def test_when_the_supervisor_is_killed_nothing_survives() -> None:
    with subprocess.Popen(
        [sys.executable, HERE / "forker_supervisor.py"],
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
    ) as supervisor:
        assert supervisor.stdout is not None
        pids = json.loads(supervisor.stdout.readline())
        assert len(survivors(pids)) == len(pids) == 11

        supervisor.kill()

    assert eventually(lambda: survivors(pids) == [])


def test_when_the_forker_is_killed_nothing_survives_and_the_supervisor_is_told(
    forker: Forker,
) -> None:
    child = start(forker, "hang")
    pids = told(child)["pids"]

    os.kill(forker.pid, signal.SIGKILL)

    assert child.wait(LONG) == Exit(lost="The forker died, and the child was killed.")
    assert survivors(pids) == []
    assert select.select([forker], [], [], LONG)[0]
    assert eventually(lambda: not forker.alive())
    with pytest.raises(ForkerError, match="Start a new one"):
        start(forker, "echo")


def test_when_the_nanny_is_killed_nothing_survives_and_the_supervisor_is_told(
    forker: Forker,
) -> None:
    other = start(forker, "wait_for_end")
    child = start(forker, "hang")
    found = told(child)

    os.kill(found["nanny"], signal.SIGKILL)

    assert child.wait(LONG) == Exit(lost="Its nanny died, and the child was killed.")
    assert survivors(found["pids"]) == []
    assert other.poll() is None
    other.channel.shutdown(SHUT_WR)
    assert other.wait(LONG) == Exit(code=0)


def test_a_child_dies_with_its_nanny_even_if_the_forker_cannot_help(forker: Forker) -> None:
    child = start(forker, "hang")
    found = told(child)

    os.kill(forker.pid, signal.SIGSTOP)
    os.kill(found["nanny"], signal.SIGKILL)

    assert eventually(lambda: not alive(found["pids"][0]))
    os.kill(forker.pid, signal.SIGCONT)
    assert child.wait(LONG) == Exit(lost="Its nanny died, and the child was killed.")
    assert survivors(found["pids"]) == []


@pytest.mark.skipif(not can_live_apart(), reason="there is no PID namespace to be had")
def test_one_that_is_apart_sees_and_kills_nobody_but_its_own() -> None:
    with Forker.start(["forker_targets"], ENVIRONMENT, apart=True) as forker:
        other = start(forker, "hang")
        pids = told(other)["pids"]
        child = start(forker, "kill_above")
        frame = receive_frame(child.channel)

        assert frame is not None
        assert frame["seen"] == [frame["nanny"], frame["itself"]]
        assert child.wait(LONG) == Exit(code=0)
        assert child.pid is None
        assert survivors(pids) == pids


def test_closing_the_forker_ends_all_children_first(forker: Forker) -> None:
    child = start(forker, "hang")
    found = told(child)

    forker.close()

    assert survivors([*found["pids"], found["nanny"], forker.pid]) == []
    end = child.poll()
    assert end is not None
    assert end.lost


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_forker_and_nannies_do_not_end_by_a_signal_to_all(
    forker: Forker, number: signal.Signals
) -> None:
    child = start(forker, "hang")
    nanny = told(child)["nanny"]

    for pid in (forker.pid, nanny):
        os.kill(pid, number)

    assert start(forker, "echo").wait(LONG) == Exit(code=0)
    child.kill()
    assert child.wait(LONG) == Exit(signal=signal.SIGKILL)


def test_a_module_that_cannot_be_imported_is_named() -> None:
    with pytest.raises(ForkerError, match="cannot start: No module named 'not_there'"):
        Forker.start(["not_there"], ENVIRONMENT)


def test_a_module_that_leaves_a_thread_is_refused(tmp_path: Path) -> None:
    (tmp_path / "threaded.py").write_text(
        "import signal, threading\n"
        "threading.Thread(target=signal.pause, name='lingering', daemon=True).start()\n"
    )

    with pytest.raises(ForkerError, match=r"left threads running \(lingering\)"):
        Forker.start(["threaded"], {"PYTHONPATH": str(tmp_path)})


def test_imports_that_never_end_are_given_up(tmp_path: Path) -> None:
    (tmp_path / "endless.py").write_text("import signal\nsignal.pause()\n")

    with pytest.raises(ForkerError, match=r"not ready in 0\.5 s; it was importing endless"):
        Forker.start(["endless"], {"PYTHONPATH": str(tmp_path)}, ready_seconds=0.5)


def test_a_fork_server_whose_supervisor_dies_while_it_starts_ends_without_a_word() -> None:
    ours, theirs = socketpair()
    with theirs:
        program = subprocess.Popen(
            [
                sys.executable,
                "-P",
                "-m",
                "headway.runtime.forker",
                "children",
                str(theirs.fileno()),
            ],
            env=ENVIRONMENT,
            stderr=subprocess.PIPE,
            pass_fds=[theirs.fileno()],
        )
    send_frame(ours, {"apart": False, "sandbox": None, "without": []})
    ours.close()

    _, said = program.communicate(timeout=LONG)

    assert (program.returncode, said) == (0, b"")


_ALL_HAVE_ENDED = """
import os

from headway.runtime.processes.tree import kill_stopped

ended = os.spawnlp(os.P_NOWAIT, "true", "true")
os.waitid(os.P_PID, ended, os.WEXITED | os.WNOWAIT)
kill_stopped({ended})
assert os.waitpid(ended, 0) == (ended, 0)
"""


def test_the_last_nanny_may_end_while_stopped_ones_are_looked_for() -> None:
    """The kernel has no child then that could have stopped, and says that there is none."""
    subprocess.run([sys.executable, "-c", _ALL_HAVE_ENDED], check=True)
