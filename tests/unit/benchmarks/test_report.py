"""The rows of benchmarks: what meets its target, and what is written."""

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = Path(__file__).parents[3] / "benchmarks" / "support" / "report.py"


def load() -> ModuleType:
    """Import the module from where it is: benchmarks are not installed."""
    spec = importlib.util.spec_from_file_location("benchmarks_report", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


report = load()


@pytest.mark.parametrize(("target", "met"), [(2, True), (2.9, True), (1.9, False)])
def test_an_upper_bound_is_met_by_the_median(target: float, met: bool) -> None:
    row = report.Row.at_most("b", "c", [1, 2, 9], "s", target, "time")

    assert (row.min, row.median, row.max, row.met) == (1, 2, 9, met)
    assert row.bound() == f"<= {target:g}"


@pytest.mark.parametrize(("target", "met"), [(2, True), (1.9, True), (2.1, False)])
def test_a_lower_bound_is_reached_by_the_median(target: float, met: bool) -> None:
    row = report.Row.at_least("b", "c", [1, 2, 9], "/s", target, "rate")

    assert row.met is met
    assert row.bound() == f">= {target:g}"


def test_a_row_without_a_target_is_neither_met_nor_missed() -> None:
    row = report.Row.of("b", "c", "time", [3, 1], "s")

    assert (row.median, row.target, row.met, row.bound()) == (2, None, None, "-")


def test_rows_are_written_even_when_a_later_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")

    def rows() -> Iterator[object]:
        yield report.Row.at_least("b", "c", [4, 5, 6], "/s", 5, "rate")
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        report.publish("it", rows())

    assert json.loads((tmp_path / "results" / "it.json").read_text()) == [
        {
            "bench": "b",
            "case": "c",
            "metric": "rate",
            "min": 4,
            "median": 5,
            "max": 6,
            "unit": "/s",
            "target": 5,
            "met": True,
            "values": [4, 5, 6],
            "better": "higher",
        }
    ]
    assert ">= 5" in capsys.readouterr().out
