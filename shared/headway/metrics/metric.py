"""Counters, gauges and histograms, with a bound on how many series each may have."""

import logging
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate, product
from math import inf
from threading import Lock
from typing import Final, NamedTuple, TypeAlias

log = logging.getLogger(__name__)

MOST: Final = 200
"""Series of a metric with an open label; what comes later is counted under `OTHER`."""

OTHER: Final = "other"

LONGEST: Final = 200
"""Characters of a label's value; a longer one is cut."""

Values: TypeAlias = tuple[str, ...]
"""The values of a metric's labels, in their order."""


class ServiceKind(StrEnum):
    """Which services show a metric."""

    API = "api"
    PARSER = "parser"
    SCHEDULER = "scheduler"
    WORKER = "worker"


EVERY: Final = frozenset(ServiceKind)


@dataclass(frozen=True, slots=True)
class Label:
    """A label; one without the `values` that it may have is open, such as the name of a DAG."""

    name: str
    values: tuple[str, ...] = ()


class Series(NamedTuple):
    """One series of a counter or a gauge, as it stands."""

    labels: Values
    value: float


class Spread(NamedTuple):
    """One series of a histogram: how many values there were up to each bound, and their sum."""

    labels: Values
    counts: list[tuple[float, int]]
    sum: float


@dataclass(slots=True, eq=False)
class Metric:
    """A metric of this process; any thread may tell it something.

    Series whose labels are all closed are shown from the start, so that a first event is an
    increase.
    """

    name: str
    help: str
    services: frozenset[ServiceKind]
    labels: tuple[Label, ...] = ()
    unit: str = ""
    _known: set[Values] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    @property
    def samples(self) -> tuple[str, ...]:
        """The names of its samples on the page."""
        return (self.name,)

    @property
    def is_open(self) -> bool:
        """Whether a label of it may have any value."""
        return not all(label.values for label in self.labels)

    def _from_the_start(self) -> Iterator[Values]:
        if not self.is_open:
            yield from product(*(label.values for label in self.labels))

    def _key(self, values: Values) -> Values:
        """Return the series that counts these values; the lock must be held."""
        values = tuple(value[:LONGEST] for value in values)
        if values in self._known:
            return values
        if self.is_open and len(self._known) >= MOST:
            pairs = zip(self.labels, values, strict=True)
            values = tuple(value if label.values else OTHER for label, value in pairs)
        self._known.add(values)
        return values


@dataclass(slots=True, eq=False)
class Counter(Metric):
    """What only grows while the process lives."""

    _sums: dict[Values, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._sums = dict.fromkeys(self._from_the_start(), 0.0)
        self._known = set(self._sums)

    @property
    def samples(self) -> tuple[str, ...]:
        """The names of its samples on the page."""
        return (f"{self.name}_total",)

    def inc(self, *values: str, by: float = 1.0) -> None:
        """Add to the series of these labels."""
        with self._lock:
            key = self._key(values)
            self._sums[key] = self._sums.get(key, 0.0) + by

    def set_to(self, value: float) -> None:
        """Take over what something else has counted, such as the database."""
        with self._lock:
            self._sums[()] = value

    def series(self) -> list[Series]:
        """Return all series."""
        with self._lock:
            return [Series(*level) for level in self._sums.items()]


Reading: TypeAlias = float | Mapping[Values, float] | None


@dataclass(slots=True, eq=False)
class Gauge(Metric):
    """What goes up and down: what was set last, or what is read when somebody asks."""

    _levels: dict[Values, float] = field(default_factory=dict)
    _read: Callable[[], Reading] | None = None
    _failed: bool = False

    def set(self, value: float, *values: str) -> None:
        """Set the series of these labels."""
        with self._lock:
            self._levels[self._key(values)] = value

    def replace(self, levels: Mapping[Values, float], most: bool = False) -> None:
        """Set all series at once; others are gone.

        What finds no series of its own is added up, or only the `most` of it is shown.
        """
        with self._lock:
            self._levels, self._known = {}, set()
            for values, level in levels.items():
                key = self._key(values)
                before = self._levels.get(key, 0.0)
                self._levels[key] = max(before, level) if most else before + level

    def read_by(self, read: Callable[[], Reading]) -> None:
        """Have a function tell, each time that somebody asks, what the series are.

        It is called in the threads of who asks: it changes nothing, and is safe to call there.
        """
        self._read = read

    def forget(self) -> None:
        """Show nothing until something is set."""
        self._read = None
        self.replace({})

    def series(self) -> list[Series]:
        """Return all series; none while they cannot be read, which is logged the first time."""
        try:
            found = self._read() if self._read is not None else None
        except Exception as error:  # noqa: BLE001 - the page tells of all other metrics
            if not self._failed:
                log.warning("action=skip_metric metric=%s error=%r", self.name, error)
            self._failed = True
            return []
        if found is not None:
            self.replace(found if isinstance(found, Mapping) else {(): found})
        with self._lock:
            return [Series(*level) for level in self._levels.items()]


SECONDS: Final = (0.005, 0.02, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Bounds for durations that may be milliseconds or many minutes."""


@dataclass(slots=True, eq=False)
class Histogram(Metric):
    """How values are spread; a value counts below the first bound that it does not exceed."""

    bounds: tuple[float, ...] = SECONDS
    _counts: dict[Values, list[int]] = field(default_factory=dict)
    _sums: dict[Values, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for values in self._from_the_start():
            self._begin(values)

    @property
    def samples(self) -> tuple[str, ...]:
        """The names of its samples on the page."""
        return f"{self.name}_bucket", f"{self.name}_sum", f"{self.name}_count"

    def observe(self, value: float, *values: str) -> None:
        """Count a value in the series of these labels."""
        with self._lock:
            key = self._key(values)
            if key not in self._counts:
                self._begin(key)
            self._counts[key][bisect_left(self.bounds, value)] += 1
            self._sums[key] += value

    def observe_all(self, found: Iterable[float]) -> None:
        """Count several values, where there are no labels."""
        for value in found:
            self.observe(value)

    def spreads(self) -> list[Spread]:
        """Return all series."""
        with self._lock:
            found = [(key, [*counts], self._sums[key]) for key, counts in self._counts.items()]
        bounds = (*self.bounds, inf)
        return [
            Spread(key, list(zip(bounds, accumulate(counts), strict=True)), total)
            for key, counts, total in found
        ]

    def _begin(self, key: Values) -> None:
        self._known.add(key)
        self._counts[key], self._sums[key] = [0] * (len(self.bounds) + 1), 0.0
