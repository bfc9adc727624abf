"""What a comparison of two revisions comes to: ratios by round, the noise, and what is worse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, NamedTuple, TypeAlias

TOLERANCE: Final = 0.05
"""By how much the median ratio may be worse."""


class Metric(NamedTuple):
    """What a figure is of."""

    bench: str
    case: str
    metric: str


Figures: TypeAlias = Mapping[Metric, float]
"""The median of each metric in one run of a benchmark."""


@dataclass(frozen=True, slots=True)
class Round:
    """Four runs in this order: old, new, new, old.  What drifts meanwhile concerns both alike.

    In a round of old against old the two in the middle are of the older revision as well.
    """

    first_old: Figures
    first_new: Figures
    second_new: Figures
    second_old: Figures


@dataclass(frozen=True, slots=True)
class Compared:
    """One metric of both revisions; a ratio is new to old."""

    bench: str
    case: str
    metric: str
    ratio: float
    ratio_min: float
    ratio_max: float
    noise: float
    worse: bool


def compared(
    rounds: Sequence[Round], old_to_old: Sequence[Round], better: Mapping[Metric, str]
) -> list[Compared]:
    """Return the rows of metrics that every run has and of which one direction is `better`.

    The rounds of old against old have runs of the older revision only.  The noise is the largest
    deviation of their ratios from 1.
    """
    rows = []
    runs = [*rounds, *old_to_old]
    for metric, direction in better.items():
        if direction not in ("lower", "higher") or not all(_has(each, metric) for each in runs):
            continue
        ratios = _ratios(rounds, metric)
        noise = max(abs(each - 1) for each in _ratios(old_to_old, metric))
        loss = median(ratios) - 1 if direction == "lower" else 1 - median(ratios)
        worse = loss > TOLERANCE and loss > noise
        rows.append(Compared(*metric, median(ratios), min(ratios), max(ratios), noise, worse))
    return rows


def _ratios(rounds: Sequence[Round], metric: Metric) -> list[float]:
    return [_ratio(_news(each, metric), _olds(each, metric)) for each in rounds]


def _has(each: Round, metric: Metric) -> bool:
    runs = (each.first_old, each.first_new, each.second_new, each.second_old)
    return all(metric in run for run in runs)


def _olds(each: Round, metric: Metric) -> list[float]:
    return [each.first_old[metric], each.second_old[metric]]


def _news(each: Round, metric: Metric) -> list[float]:
    return [each.first_new[metric], each.second_new[metric]]


def _ratio(values: Sequence[float], to: Sequence[float]) -> float:
    """Return the ratio of two sums; 1 where both are nothing."""
    if sum(to) == 0:
        return 1.0 if sum(values) == 0 else float("inf")
    return sum(values) / sum(to)
