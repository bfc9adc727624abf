"""Watch a backfill until it ends: a bar on a terminal, lines elsewhere."""

import sys
from collections.abc import Callable, Iterator
from threading import Event
from typing import TextIO

from headway.actions.backfills.control import progress_of
from headway.cli.input.polling import polled
from headway.cli.screen.backfill_progress import line
from headway.db.reads.backfill_views import BackfillProgress
from headway.runtime.daemon.clock import Clock, SystemClock

INTERVAL = 0.25
"""Seconds between two looks, at least."""

REST = 20
"""How many times as long as a look takes the database is left alone after it."""

LINE_INTERVAL = 2.0
"""Seconds between two lines, where there is no terminal to draw a bar on."""


def watch_backfill(
    backfill_id: int,
    url: str | None = None,
    meanwhile: Callable[[], None] = lambda: None,
    target: TextIO | None = None,
) -> BackfillProgress:
    """Show the progress on `target`, or stdout, until every run has ended; return how they did.

    A database that is away for a while is waited for.  `meanwhile` is called at each look.
    NotFoundError when the backfill is gone.
    """
    steps = _follow(backfill_id, url, meanwhile)
    shown = target or sys.stdout
    return _bar(steps, shown) if shown.isatty() else _lines(steps, SystemClock(), shown)


def pause(took: float) -> float:
    """Return how many seconds to wait after a look that took so many."""
    return max(INTERVAL, REST * took)


def _follow(
    backfill_id: int, url: str | None, meanwhile: Callable[[], None]
) -> Iterator[BackfillProgress]:
    clock, never = SystemClock(), Event()
    with polled("headway watch", url) as database:
        while True:
            meanwhile()
            began = clock.monotonic()
            progress = database.look(lambda conn: progress_of(conn, backfill_id))
            wait = INTERVAL if progress is None else pause(clock.monotonic() - began)
            if progress is not None:
                yield progress
                if progress.finished:
                    return
            clock.wait(never, wait)


def _bar(steps: Iterator[BackfillProgress], target: TextIO) -> BackfillProgress:
    from rich.console import Console

    from headway.cli.screen.backfill_progress import draw

    return draw(steps, Console(file=target))


def _lines(steps: Iterator[BackfillProgress], clock: Clock, target: TextIO) -> BackfillProgress:
    said, silent_until = "", 0.0
    for progress in steps:
        now = line(progress)
        if now != said and (clock.monotonic() >= silent_until or progress.finished):
            print(now, file=target, flush=True)
            said, silent_until = now, clock.monotonic() + LINE_INTERVAL
    return progress
