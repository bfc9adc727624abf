"""When a comparison of two revisions says that a metric is worse."""

import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SOURCE = Path(__file__).parents[3] / "benchmarks" / "verdict.py"


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


def rounds(*figures: Sequence[float]) -> list[Any]:
    """Return rounds of these figures of one metric, in the order old, new, new, old."""
    return [verdict.Round(*({METRIC: figure} for figure in each)) for each in figures]


def judged(
    found: list[Any], noise: Sequence[float] = (10, 10, 10, 10), better: str = "lower"
) -> Any:
    [row] = verdict.compared(found, rounds(noise), {METRIC: better})
    return row


def test_ratios_are_those_of_new_to_old_in_each_round() -> None:
    row = judged(rounds((10, 11, 11, 10), (10, 12, 12, 10), (10, 13, 13, 10)))

    assert (row.bench, row.case, row.metric) == METRIC
    assert (row.ratio, row.ratio_min, row.ratio_max) == (1.2, 1.1, 1.3)
    assert (row.noise, row.worse) == (0, True)


def test_what_drifts_from_run_to_run_cancels_out() -> None:
    row = judged(rounds((10, 11, 12, 13), (14, 15, 16, 17)))

    assert (row.ratio, row.noise, row.worse) == (1, 0, False)


@pytest.mark.parametrize(("new", "worse"), [(10.4, False), (10.6, True), (8, False)])
def test_a_lower_figure_is_better_by_more_than_the_tolerance(new: float, worse: bool) -> None:
    assert judged(rounds((10, new, new, 10))).worse is worse


@pytest.mark.parametrize(("new", "worse"), [(9.6, False), (9.4, True), (12, False)])
def test_a_higher_figure_is_better_where_that_is_known(new: float, worse: bool) -> None:
    assert judged(rounds((10, new, new, 10)), better="higher").worse is worse


def test_what_is_within_the_noise_of_old_against_old_is_not_worse() -> None:
    found = rounds((10, 12, 12, 10), (10, 12, 12, 10))

    quiet, loud, drifting = (
        judged(found, noise) for noise in ((10, 10, 10, 10), (10, 13, 13, 10), (10, 20, 30, 40))
    )

    assert (quiet.noise, quiet.worse) == (0, True)
    assert (loud.noise, loud.worse) == (pytest.approx(0.3), False)
    assert (drifting.noise, drifting.worse) == (0, True)


def test_the_noise_is_the_largest_deviation_and_never_that_of_new_runs() -> None:
    found = rounds((10, 12, 12, 20), (20, 12, 12, 10))

    [row] = verdict.compared(found, rounds((10, 11, 11, 10), (10, 7, 7, 10)), {METRIC: "lower"})

    assert row.noise == pytest.approx(0.3)


def test_figures_that_are_not_headways_own_or_not_in_every_run_are_left_out() -> None:
    found = rounds((10, 20, 20, 10))
    found.append(verdict.Round({METRIC: 10}, {METRIC: 20}, {}, {METRIC: 10}))

    same = rounds((10, 10, 10, 10))
    assert verdict.compared(found, same, {METRIC: "lower"}) == []
    assert verdict.compared(found[:1], found[1:], {METRIC: "lower"}) == []
    assert verdict.compared(found[:1], same, {METRIC: ""}) == []


def test_nothing_against_nothing_is_the_same() -> None:
    assert judged(rounds((0, 0, 0, 0))).ratio == 1
    assert judged(rounds((0, 1, 1, 0))).worse
