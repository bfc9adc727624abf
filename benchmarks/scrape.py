"""The page at /metrics of each service with as many series as it may have: time and size."""

from collections.abc import Iterator
from time import perf_counter
from unittest import mock

from benchmarks.support.report import Row
from headway.metrics import catalogue
from headway.metrics.exposition import Exposition
from headway.metrics.metric import ServiceKind
from headway.testing.metrics.metrics import filled

NAME = "scrape"
TIMES = 50


def run() -> Iterator[Row]:
    """Write each page again and again."""
    full = tuple(filled(metric) for metric in catalogue.METRICS)
    with mock.patch.object(catalogue, "METRICS", full):
        for service in ServiceKind:
            yield from _measure(service)


def _measure(service: ServiceKind) -> Iterator[Row]:
    exposition, took, page = Exposition(service), [], b""
    for _ in range(TIMES):
        began = perf_counter()
        page = exposition.page()
        took.append((perf_counter() - began) * 1000)
    took.sort()
    case = f"{service}, all series"
    yield Row.of(NAME, case, "samples", [page.count(b"\nheadway_")], "samples", better="")
    yield Row.at_most(NAME, case, [len(page) / 1e6], "MB", 1, metric="size")
    yield Row.at_most(NAME, case, [took[TIMES // 2]], "ms", 20, metric="median")
    yield Row.at_most(NAME, case, [took[TIMES * 95 // 100]], "ms", 20, metric="p95")
