"""What untrusted code cannot do to the nanny that raises the next child after it."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from headway.runtime.forker import Forker
from headway.runtime.sandbox import Layer, Sandbox
from headway.testing import sandboxes
from headway.testing.sandboxes import EVERY, WEAK, outcomes


def start(layers: Iterable[Layer]) -> Forker:
    environment = {"PATH": os.environ["PATH"]}
    return sandboxes.start(layers, Path(__file__).parent, environment, Sandbox())


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
