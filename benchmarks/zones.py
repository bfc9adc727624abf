"""Cron strings around every change of the clocks of every zone: a property, and how many cases."""

from collections.abc import Iterator
from time import process_time

from benchmarks.support.report import Row
from headway.testing.time.clock_changes import CRONS, distinct_windows, problems, zones

NAME = "zones"


def run() -> Iterator[Row]:
    """Try every cron string in every window, and tell what is wrong."""
    started = process_time()
    around = distinct_windows()
    windows = [window for found in around.values() for window in found]
    yield Row.of(NAME, "tzdata", "zones", [len(zones())], "zones", better="")
    yield Row.of(NAME, "tzdata", "zones that differ, 1990-2037", [len(around)], "zones", better="")
    yield Row.of(NAME, "tzdata", "changes of their clocks", [len(windows)], "changes", better="")
    wrong = [told for window in windows for cron in CRONS for told in problems(cron, window)]
    for told in wrong[:20]:
        print(told)
    yield Row.of(
        NAME, f"{len(CRONS)} cron strings", "cases", [len(windows) * len(CRONS)], "cases", better=""
    )
    yield Row.of(NAME, f"{len(CRONS)} cron strings", "time", [process_time() - started], "CPU s")
    yield Row.at_most(
        NAME, f"{len(CRONS)} cron strings", [len(wrong)], "problems", 0, metric="wrong"
    )
