"""What a comparison of two revisions comes to: ratios by round, the noise, and what is worse."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from random import Random
from statistics import median
from typing import Final, NamedTuple, TypeAlias

TOLERANCE: Final = 0.05
"""By how much the median ratio may be worse."""

RESAMPLES: Final = 999
"""How often the ratios of old to old are drawn anew, to see how far their median strays."""

CERTAINTY: Final = 0.99
"""The share of these medians that the noise covers."""


class Metric(NamedTuple):
    """What a figure is of."""

    bench: str
    case: str
    metric: str


class Series(NamedTuple):
    """The values of a metric, as many of each round, and which ones are better."""

    values: Sequence[float]
    better: str


Measured: TypeAlias = Mapping[Metric, Series]
"""All that one side has measured."""


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


def compared(old: Measured, new: Measured, again: Measured, rounds: int) -> list[Compared]:
    """Return the rows of metrics that all sides have and of which one direction is `better`.

    `again` is the older revision as well, measured in the same rounds.  A ratio is that of new to
    the geometric mean of both.  The noise is how far the median of as many ratios of old to old
    strays from 1.
    """
    rows = []
    for metric, (_, direction) in new.items():
        if direction not in ("lower", "higher") or metric not in old or metric not in again:
            continue
        news, olds, agains = (by_round(side[metric].values, rounds) for side in (new, old, again))
        if not len(news) == len(olds) == len(agains):
            continue
        means = [sqrt(one * other) for one, other in zip(olds, agains, strict=True)]
        ratios = _ratios(news, means)
        noise = _straying(_ratios(agains, olds))
        loss = median(ratios) - 1 if direction == "lower" else 1 - median(ratios)
        worse = loss > TOLERANCE and loss > noise
        rows.append(Compared(*metric, median(ratios), min(ratios), max(ratios), noise, worse))
    return rows


def by_round(values: Sequence[float], rounds: int) -> list[float]:
    """Return the median of each round; that of all values if they cannot be told apart."""
    size, rest = divmod(len(values), rounds)
    if rest or not size:
        return [median(values)]
    return [median(values[start : start + size]) for start in range(0, len(values), size)]


def _straying(ratios: Sequence[float]) -> float:
    """Return the deviation from 1 that the median of such ratios seldom exceeds."""
    chance = Random(0)
    draws = (chance.choices(ratios, k=len(ratios)) for _ in range(RESAMPLES))
    deviations = sorted(abs(median(draw) - 1) for draw in draws)
    return deviations[int(CERTAINTY * RESAMPLES)]


def _ratios(values: Sequence[float], to: Sequence[float]) -> list[float]:
    return [_ratio(one, other) for one, other in zip(values, to, strict=True)]


def _ratio(value: float, to: float) -> float:
    """Return the ratio; 1 where both are nothing."""
    if to == 0:
        return 1.0 if value == 0 else float("inf")
    return value / to
