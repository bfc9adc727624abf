"""When a comparison of two revisions says that a metric is worse."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SOURCE = Path(__file__).parents[3] / "benchmarks" / "support" / "verdict.py"


def load() -> ModuleType:
    """Import the module from where it is: benchmarks are not installed."""
    spec = importlib.util.spec_from_file_location("benchmarks_verdict", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


verdict = load()
METRIC = verdict.Metric("tasks", "chain", "gap")


def side(values: Sequence[float], better: str = "lower") -> Any:
    return {METRIC: verdict.Series(values, better)}


def judged(
    new: Sequence[float],
    old: Sequence[float] = (10, 10, 10),
    again: Sequence[float] | None = None,
    better: str = "lower",
) -> Any:
    agains = side(old if again is None else again)
    [row] = verdict.compared(side(old), side(new, better), agains, len(old))
    return row


def test_ratios_are_those_of_new_to_old_in_each_round() -> None:
    row = judged((11, 13, 12))

    assert (row.bench, row.case, row.metric) == METRIC
    assert (row.ratio, row.ratio_min, row.ratio_max) == (1.2, 1.1, 1.3)
    assert (row.noise, row.worse) == (0, True)


def test_what_drifts_from_round_to_round_cancels_out() -> None:
    row = judged((10, 15, 30), old=(10, 15, 30))

    assert (row.ratio, row.noise, row.worse) == (1, 0, False)


def test_the_older_revision_counts_with_the_geometric_mean_of_its_measurements() -> None:
    assert judged((10, 10, 10), old=(5, 5, 5), again=(20, 20, 20)).ratio == 1


def test_a_round_of_several_values_counts_with_their_median() -> None:
    old = side([10, 10, 90, 20, 20, 90])
    [row] = verdict.compared(old, side([11, 11, 90, 26, 26, 90]), old, 2)

    assert (row.ratio_min, row.ratio_max) == (1.1, 1.3)


def test_values_that_cannot_be_told_apart_by_round_are_one() -> None:
    old = side([10, 10, 10])
    [row] = verdict.compared(old, side([1, 12, 90]), old, 2)

    assert (row.ratio_min, row.ratio, row.ratio_max) == (1.2, 1.2, 1.2)


@pytest.mark.parametrize(("new", "worse"), [(10.4, False), (10.6, True), (8, False)])
def test_a_lower_figure_is_better_by_more_than_the_tolerance(new: float, worse: bool) -> None:
    assert judged((new, new, new)).worse is worse


@pytest.mark.parametrize(("new", "worse"), [(9.6, False), (9.4, True), (12, False)])
def test_a_higher_figure_is_better_where_that_is_known(new: float, worse: bool) -> None:
    assert judged((new, new, new), better="higher").worse is worse


def test_what_is_within_the_noise_of_old_against_old_is_not_worse() -> None:
    new, old = [12] * 6, [10] * 6

    assert judged(new, old).worse
    assert judged(new, old, again=[9, 11, 9, 11, 9, 11]).worse
    loud = judged(new, old, again=[6, 15, 6, 15, 6, 15])
    assert (loud.noise >= 0.4, loud.worse) == (True, False)


def test_more_rounds_make_less_noise() -> None:
    few, many = (
        judged([10] * (6 * times), [10] * (6 * times), again=[8, 9, 10, 10, 10.5, 11] * times).noise
        for times in (1, 20)
    )

    assert many < few / 2


def test_figures_that_are_not_headways_own_or_not_of_every_side_are_left_out() -> None:
    old, new = side((10, 10)), side((20, 20))

    assert verdict.compared(old, side((20, 20), better=""), old, 2) == []
    assert verdict.compared({}, new, old, 2) == []
    assert verdict.compared(old, new, {}, 2) == []
    assert verdict.compared(old, side((20, 20, 20)), old, 2) == []
    assert len(verdict.compared(old, new, old, 2)) == 1


def test_nothing_against_nothing_is_the_same() -> None:
    assert judged((0, 0), old=(0, 0)).ratio == 1
    assert judged((1, 1), old=(0, 0)).worse
