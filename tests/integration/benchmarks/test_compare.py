"""What a comparison runs: which code on the old side, in which order, and what it refuses."""

import importlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]

PYTHON = Path(sys.executable)

BENCHMARK = """
import sys
from pathlib import Path
from benchmarks.support.report import Row, publish
from benchmarks.support.turns import turns

def run():
    values = []
    for number in turns(1):
        with Path("../log").open("a") as log:
            log.write(Path.cwd().name + " begins\\n")
            log.write(Path.cwd().name + " ends\\n")
        values.append(number)
        {then}
    yield Row.of("fake", "case", "value", values, "s")

publish("fake", run())
"""
"""A benchmark that notes its turns."""


@pytest.fixture
def compare(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Import the module from where it is: benchmarks are not installed."""
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("benchmarks.support.compare")


@pytest.fixture
def side(compare: ModuleType) -> ModuleType:
    return importlib.import_module("benchmarks.support.side")


def code(folder: Path, main: str = BENCHMARK.format(then="pass")) -> Path:
    """Return a folder with benchmarks, of which one is run whatever name is given."""
    (folder / "benchmarks" / "support").mkdir(parents=True)
    for module in ("__init__", "support/__init__", "support/report", "support/turns"):
        shutil.copy(ROOT / "benchmarks" / f"{module}.py", folder / "benchmarks" / f"{module}.py")
    (folder / "benchmarks" / "__main__.py").write_text(main)
    return folder


def sides(side: ModuleType, folder: Path, main: str = BENCHMARK.format(then="pass")) -> list[Any]:
    return [side.Side(PYTHON, code(folder / name, main)) for name in ("old", "new", "again")]


def test_sides_measure_in_turns_and_each_begins_as_many_rounds(
    compare: ModuleType, side: ModuleType, tmp_path: Path
) -> None:
    compare.measured("fake", sides(side, tmp_path), 3)

    order = ["old", "new", "again", "new", "again", "old", "again", "old", "new"]
    assert (tmp_path / "log").read_text().splitlines() == [
        f"{name} {what}" for name in order for what in ("begins", "ends")
    ]


@pytest.mark.parametrize(("rounds", "told"), [("8", True), ("9", False)])
def test_few_rounds_are_measured_and_what_they_are_worth_is_told(
    compare: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    rounds: str,
    told: bool,
) -> None:
    asked = []

    def measure(_folder: Path, _names: Sequence[str], rounds: int) -> list[Any]:
        asked.append(rounds)
        return []

    monkeypatch.setattr(compare, "installed", lambda _revision: Path())
    monkeypatch.setattr(compare, "_compare", measure)

    assert compare.main(["HEAD", "tasks", rounds]) == 0
    assert asked == [int(rounds)]
    assert ("too little noise" in capsys.readouterr().out) is told


def test_what_each_side_has_measured_is_read(
    compare: ModuleType, side: ModuleType, tmp_path: Path
) -> None:
    old, new, again = sides(side, tmp_path)
    compare.measured("fake", (old, new, again), 3)

    [(metric, series)] = new.series("fake").items()
    assert metric == ("fake", "case", "value")
    assert series == ([0, 1, 2], "lower")


def test_a_side_that_fails_ends_the_comparison(
    compare: ModuleType, side: ModuleType, tmp_path: Path
) -> None:
    fails = BENCHMARK.format(then='if number and Path.cwd().name == "new": sys.exit(3)')

    with pytest.raises(subprocess.CalledProcessError):
        compare.measured("fake", sides(side, tmp_path, fails), 3)

    assert (tmp_path / "log").read_text().count("new ends") == 2


def test_the_old_side_runs_the_code_of_this_checkout_where_it_can(
    side: ModuleType, tmp_path: Path
) -> None:
    ours, own = (side.Side(PYTHON, code(tmp_path / name)) for name in ("ours", "own"))

    assert side.runnable("fake", ours, own, 1) is ours


@pytest.mark.parametrize("unusable", ["raise SystemExit(1)", "print('takes no turns')"])
def test_the_old_side_runs_its_own_code_where_it_must(
    side: ModuleType, tmp_path: Path, unusable: str
) -> None:
    ours = side.Side(PYTHON, code(tmp_path / "ours", unusable))
    own = side.Side(PYTHON, code(tmp_path / "own"))

    assert side.runnable("fake", ours, own, 1) is own


def test_a_benchmark_that_the_old_side_cannot_run_at_all_is_named(
    side: ModuleType, tmp_path: Path
) -> None:
    ours = side.Side(PYTHON, code(tmp_path / "ours", "raise SystemExit(1)"))
    own = side.Side(PYTHON, code(tmp_path / "own", "print('takes no turns')"))

    with pytest.raises(side.CannotCompareError, match="benchmark fake neither"):
        side.runnable("fake", ours, own, 1)


def test_without_a_comparison_repetitions_wait_for_nobody(
    compare: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = importlib.import_module("benchmarks.support.turns")

    assert list(turns.turns(3)) == [0, 1, 2]
    monkeypatch.setenv("HEADWAY_BENCH_REPEAT", "2")
    assert list(turns.turns(3)) == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("", "tasks", "15"), "must be given"),
        (("HEAD", "", "15"), "must be given"),
        (("HEAD", "tasks", ""), "must be given"),
        (("HEAD", "tasks"), "must be given"),
        (("HEAD", "tasks", "0"), "ROUNDS=0"),
        (("HEAD", "tasks", "²"), "ROUNDS=²"),
        (("HEAD", "tasks,nothing", "15"), "There is no benchmark 'nothing'"),
        (("HEAD", "tasks,", "15"), "There is no benchmark ''"),
        (("no-such-revision", "tasks", "15"), "There is no revision 'no-such-revision'"),
    ],
)
def test_a_command_line_that_makes_no_sense_gets_the_usage(
    arguments: Sequence[str], said: str
) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.support.compare", *arguments],
        cwd=ROOT,
        check=False,
        capture_output=True,
        text=True,
    )

    assert told.returncode == 2
    assert said in told.stdout
    assert "Usage: make compare OLD=<revision> NAME=scheduler,tasks ROUNDS=15" in told.stdout
    assert told.stderr == ""
