"""What untrusted code cannot do to the nanny that raises the next child after it."""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from headway.runtime.forker import Child, Exit, Forker
from headway.runtime.processes.frames import receive_frame
from headway.runtime.sandbox import Layer, Sandbox
from headway.testing.processes import sandboxes
from headway.testing.processes.sandboxes import EVERY, LONG, WEAK, outcomes, spawn

CLOSING = 4.0
"""Seconds before anything must be killed when a forker is closed."""


def start(layers: Iterable[Layer]) -> Forker:
    environment = {"PATH": os.environ["PATH"]}
    return sandboxes.start(layers, Path(__file__).parents[2], environment, Sandbox())


@pytest.fixture(scope="module", params=["all", "weak"])
def forker(request: pytest.FixtureRequest) -> Iterator[Forker]:
    """One forker with all layers, and one with the same user, no namespace and no Landlock."""
    with start(EVERY if request.param == "all" else WEAK) as started:
        yield started


def children_of(pid: int) -> str:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text()


def test_the_nanny_cannot_be_ruined_for_the_next_child(forker: Forker) -> None:
    assert outcomes(forker, ("own_rank",)) == ["ranked"]
    nannies = children_of(forker.pid)

    for how in ("limit", "rank", "schedule", "pin", "stop", "stop_by_pipe"):
        assert outcomes(forker, ("ruin_parent", how)) == ["EPERM"]
        assert outcomes(forker, ("own_rank",)) == ["ranked"]
    assert children_of(forker.pid) == nannies


def test_what_dag_files_import_does_without_what_is_refused(forker: Forker) -> None:
    pytest.importorskip("pyspark")

    assert outcomes(forker, ("compute",)) == ["600 rows"]


@pytest.fixture
def unfiltered() -> Iterator[Forker]:
    """A forker of which the children may send all signals to their nannies, and to it."""
    with start({Layer.PRIVILEGES, Layer.LIMITS}) as started:
        yield started


def told(child: Child) -> list[int]:
    frame = receive_frame(child.channel)
    assert frame is not None
    found: list[int] = frame["told"]
    return found


def gone(pids: Iterable[int]) -> bool:
    """Whether none of them is there before long, but for those that wait to be buried."""
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        if not any(map(alive, pids)):
            return True
        time.sleep(0.02)
    return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_nanny_that_is_stopped_is_replaced(unfiltered: Forker) -> None:
    child = spawn(unfiltered, "stop_all", also=0)
    pids = told(child)

    assert child.wait(LONG) == Exit(lost="Its nanny died, and the child was killed.")
    assert gone(pids)
    child.close()
    assert outcomes(unfiltered, ("own_rank",)) == ["ranked"]


def test_a_forker_that_is_stopped_closes_all_the_same(unfiltered: Forker) -> None:
    child = spawn(unfiltered, "stop_all", also=unfiltered.pid)
    pids = told(child)
    child.kill()
    assert child.wait(0.3) is None

    before = time.monotonic()
    unfiltered.close()

    assert time.monotonic() - before < CLOSING
    assert not any(map(alive, pids))
    child.close()


def test_when_the_forker_is_killed_a_stopped_nanny_notices(unfiltered: Forker) -> None:
    child = spawn(unfiltered, "stop_all", also=unfiltered.pid)
    pids = told(child)

    os.kill(unfiltered.pid, signal.SIGKILL)

    assert gone(pids)
    child.close()


def test_a_nanny_that_does_not_end_is_killed() -> None:
    """Whoever stops it again and again gains nothing by it."""
    with start({Layer.PRIVILEGES, Layer.LIMITS}) as forker:
        child = spawn(forker, "stop_all", also=forker.pid, again=True)
        pids = told(child)
        forker.close()
        assert gone(pids)
        child.close()
