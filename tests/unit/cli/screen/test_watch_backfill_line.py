import io
import re
from datetime import UTC, datetime
from typing import Literal

import pytest
from rich.console import Console

from headway.cli.screen.backfill_progress import draw, line
from headway.cli.screen.watch_backfill import INTERVAL, pause
from headway.db.reads.backfill_views import BackfillProgress
from headway.domain.backfill import Direction, Reprocess

NOON = datetime(2013, 1, 1, 12, tzinfo=UTC)


def progress(
    runs: tuple[int, int, int, int], tasks: tuple[int, int, int, int, int]
) -> BackfillProgress:
    """A backfill of runs (queued, running, succeeded, failed) and of tasks (all, ended, …)."""
    queued, running, succeeded, failed = runs
    total, ended, tasks_succeeded, skipped, tasks_failed = tasks
    return BackfillProgress(
        id=1,
        dag_id="d",
        from_date=NOON,
        to_date=NOON,
        max_active_runs=4,
        planned=sum(runs),
        created_at=NOON,
        reprocess=Reprocess.NONE,
        direction=Direction.FORWARD,
        rollup=1,
        weight=100,
        idle_only=False,
        paused=False,
        cancelled_at=None,
        queued=queued,
        running=running,
        succeeded=succeeded,
        failed=failed,
        tasks=total,
        tasks_ended=ended,
        tasks_succeeded=tasks_succeeded,
        tasks_skipped=skipped,
        tasks_failed=tasks_failed,
    )


def test_a_line_says_how_far_a_backfill_has_come() -> None:
    assert line(progress((2, 1, 3, 1), (40, 25, 20, 2, 3))) == (
        "[backfill progress: 62.5%] | total dagruns: 7 | total tasks: 40 | finished: 25 | "
        "succeeded: 20 | skipped: 2 | failed: 3"
    )


def test_a_backfill_without_tasks_is_at_its_beginning() -> None:
    assert line(progress((1, 0, 0, 0), (0, 0, 0, 0, 0))).startswith("[backfill progress: 0.0%]")


START = progress((361, 4, 0, 0), (1095, 0, 0, 0, 0))
LATER = progress((200, 4, 160, 1), (1095, 405, 400, 2, 3))


def drawn(width: int, colours: Literal["standard"] | None = None) -> str:
    """What is on a terminal of that width in the end: START, and LATER over it."""
    console = Console(
        file=io.StringIO(), force_terminal=True, width=width, color_system=colours, _environ={}
    )

    assert draw(iter([START, LATER]), console) is LATER

    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue().rsplit("\x1b[2K", 1)[-1].removesuffix("\x1b[?25h")


TOTAL = "total dagruns: 365 | total tasks: 1095 | finished: 405"
OF_THEM = "succeeded: 400 | skipped: 2 | failed: 3"


@pytest.mark.parametrize(
    ("width", "below"), [(80, [TOTAL, OF_THEM]), (120, [f"{TOTAL} | {OF_THEM}"])]
)
def test_a_bar_says_all_that_a_line_says(width: int, below: list[str]) -> None:
    bar, *rest = drawn(width).splitlines()

    assert re.fullmatch(r"\[backfill progress: 37\.0%\] ━+╸ +4 dagruns running \d:\d\d:\d\d", bar)
    assert len(bar) == width
    assert rest == below
    assert line(LATER) == " | ".join([bar[: bar.index("]") + 1], *below])


def test_failed_tasks_stand_out() -> None:
    assert "\x1b[31mfailed: 3\x1b[0m" in drawn(120, colours="standard")


@pytest.mark.parametrize(
    ("runs", "state"),
    [
        ((1, 0, 6, 0), "running"),
        ((0, 1, 5, 1), "running"),
        ((0, 0, 7, 0), "success"),
        ((0, 0, 6, 1), "failed"),
        ((0, 0, 0, 0), "empty"),
    ],
)
def test_a_backfill_has_ended_when_all_its_runs_have(
    runs: tuple[int, int, int, int], state: str
) -> None:
    found = progress(runs, (1, 1, 1, 0, 0))

    assert (found.state, found.finished) == (state, state != "running")


def test_the_database_is_left_alone_for_long_after_a_look_that_took_long() -> None:
    assert pause(0.001) == INTERVAL
    assert pause(0.5) == 10
