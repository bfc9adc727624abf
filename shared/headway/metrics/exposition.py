"""The page at /metrics.  Import this only where there is a port: what it needs stays in memory.

prometheus-client writes what every process has.  It takes 8 µs for a line, of which there may be
5,000 here, so the metrics of Headway are written by this module.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import inf, isnan
from typing import Final

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest

from headway import __version__
from headway.metrics import catalogue
from headway.metrics.metric import Counter, Gauge, Histogram, Metric, ServiceKind, Values
from headway.metrics.process import INFO

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

KEPT: Final = 4096
"""Series of which the text is kept from one page to the next."""


class Exposition:
    """The metrics of one service, as Prometheus reads them."""

    def __init__(self, service: ServiceKind) -> None:
        INFO.set(1, service, __version__)
        self._metrics = catalogue.of(service)
        self._of_the_process = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._of_the_process)

    def page(self) -> bytes:
        """Return the page."""
        lines = [line for metric in self._metrics for line in _lines(metric)]
        return "".join(lines).encode() + generate_latest(self._of_the_process)


def _lines(metric: Metric) -> Iterator[str]:
    name = metric.name if isinstance(metric, Histogram) else metric.samples[0]
    about = metric.help.replace("\\", r"\\").replace("\n", r"\n")
    yield f"# HELP {name} {about}\n# TYPE {name} {type(metric).__name__.lower()}\n"
    match metric:
        case Counter() | Gauge():
            names = _names(metric)
            for values, value in metric.series():
                yield f"{name}{_labels(_pairs(names, values))} {_number(value)}\n"
        case Histogram():
            yield from _spreads(metric)


def _spreads(metric: Histogram) -> Iterator[str]:
    name = metric.name
    for values, counts, total in metric.spreads():
        pairs = _pairs(_names(metric), values)
        starts = _bucket_starts(name, metric.bounds, pairs)
        for start, (_, count) in zip(starts, counts, strict=True):
            yield f"{start}{count}\n"
        labels = _labels(pairs)
        yield f"{name}_count{labels} {counts[-1][1]}\n{name}_sum{labels} {_number(total)}\n"


def _names(metric: Metric) -> tuple[str, ...]:
    return tuple(label.name for label in metric.labels)


@lru_cache(KEPT)
def _pairs(names: tuple[str, ...], values: Values) -> str:
    pairs = zip(names, values, strict=True)
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)


@lru_cache(KEPT)
def _bucket_starts(name: str, bounds: tuple[float, ...], pairs: str) -> list[str]:
    """Return all of the lines of a series of a histogram but the numbers."""
    before = f"{name}_bucket{{{pairs}{',' if pairs else ''}le="
    return [f'{before}"{_number(bound)}"}} ' for bound in (*bounds, inf)]


def _labels(pairs: str) -> str:
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if isnan(value):
        return "NaN"
    if value in {inf, -inf}:
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))
