"""What a comparison runs: which code on the old side, in which order, and what it refuses."""

import importlib
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

OURS, OWN = Path("/checkout"), Path("/old")
OLD_PYTHON, NEW_PYTHON = Path("/old/python"), Path("/new/python")


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the module from where it is: benchmarks are not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.compare")


@pytest.fixture
def side(compare: ModuleType) -> ModuleType:
    return importlib.import_module("benchmarks.side")


class Runs:
    """Stand in for the running of benchmarks: who ran whose code, and which of these fail."""

    def __init__(self, failing: Sequence[tuple[Path, Path]]) -> None:
        self.failing = list(failing)
        self.seen: list[tuple[Path, Path]] = []

    def run(self, it: Any, bench: str) -> dict[Any, float]:
        self.seen.append((it.python, it.code))
        if (it.python, it.code) in self.failing:
            raise subprocess.CalledProcessError(1, bench)
        return {}


@pytest.fixture
def runs(side: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Runs:
    found = Runs([])

    def run(it: object, bench: str) -> dict[Any, float]:
        return found.run(it, bench)

    monkeypatch.setattr(side.Side, "run", run)
    return found


def test_the_old_side_runs_the_code_of_this_checkout_where_it_can(
    side: ModuleType, runs: Runs
) -> None:
    chosen = side.runnable("tasks", side.Side(OLD_PYTHON, OURS), side.Side(OLD_PYTHON, OWN))

    assert chosen.code == OURS
    assert runs.seen == [(OLD_PYTHON, OURS)]


def test_the_old_side_runs_its_own_code_where_it_must(side: ModuleType, runs: Runs) -> None:
    runs.failing = [(OLD_PYTHON, OURS)]

    chosen = side.runnable("tasks", side.Side(OLD_PYTHON, OURS), side.Side(OLD_PYTHON, OWN))

    assert chosen.code == OWN


def test_both_sides_repeat_alike(side: ModuleType, runs: Runs) -> None:
    """A first repetition is slower than the median of five: an old benchmark may know no other."""
    runs.failing = [(OLD_PYTHON, OURS)]
    own = side.Side(OLD_PYTHON, OWN, side.AS_USUAL)

    old = side.runnable("tasks", side.Side(OLD_PYTHON, OURS), own)
    new = side.Side(NEW_PYTHON, OURS).repeating_like(old)

    assert (old.repeat, new.repeat) == (side.AS_USUAL, side.AS_USUAL)
    assert side.Side(NEW_PYTHON, OURS).repeat == side.ONCE


def test_a_benchmark_that_the_old_side_cannot_run_at_all_is_named(
    side: ModuleType, runs: Runs
) -> None:
    runs.failing = [(OLD_PYTHON, OURS), (OLD_PYTHON, OWN)]

    with pytest.raises(side.CannotCompareError, match="benchmark tasks neither"):
        side.runnable("tasks", side.Side(OLD_PYTHON, OURS), side.Side(OLD_PYTHON, OWN))


def test_an_error_in_the_middle_ends_the_comparison(
    compare: ModuleType, side: ModuleType, runs: Runs
) -> None:
    """With other code from there on, figures of two benchmarks would be compared."""
    old, new = side.Side(OLD_PYTHON, OURS), side.Side(NEW_PYTHON, OURS)
    runs.failing = [(NEW_PYTHON, OURS)]

    with pytest.raises(subprocess.CalledProcessError):
        compare.measured("tasks", old, new, 1)

    assert runs.seen == [(OLD_PYTHON, OURS), (NEW_PYTHON, OURS)]


def test_each_round_is_followed_by_one_of_old_against_old(
    compare: ModuleType, side: ModuleType, runs: Runs
) -> None:
    old, new = side.Side(OLD_PYTHON, OURS), side.Side(NEW_PYTHON, OURS)

    rounds, noise = compare.measured("tasks", old, new, 2)

    turn = [OLD_PYTHON, NEW_PYTHON, NEW_PYTHON, OLD_PYTHON, *[OLD_PYTHON] * 3]
    assert [python for python, _ in runs.seen] == turn * 2
    assert (len(rounds), len(noise)) == (2, 2)
    assert all(
        each.first_old is before.second_old for before, each in zip(rounds, noise, strict=True)
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("", "tasks", "7"), "must be given"),
        (("HEAD", "", "7"), "must be given"),
        (("HEAD", "tasks", ""), "must be given"),
        (("HEAD", "tasks"), "must be given"),
        (("HEAD", "tasks", "0"), "ROUNDS=0"),
        (("HEAD", "tasks", "²"), "ROUNDS=²"),
        (("HEAD", "tasks,nothing", "7"), "There is no benchmark 'nothing'"),
        (("HEAD", "tasks,", "7"), "There is no benchmark ''"),
        (("no-such-revision", "tasks", "7"), "There is no revision 'no-such-revision'"),
    ],
)
def test_a_command_line_that_makes_no_sense_gets_the_usage(
    arguments: Sequence[str], said: str
) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.compare", *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )

    assert told.returncode == 2
    assert said in told.stdout
    assert "Usage: make compare OLD=<revision> NAME=scheduler,tasks ROUNDS=7" in told.stdout
    assert told.stderr == ""
