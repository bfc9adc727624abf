"""How far a backfill has come: in words, and as a bar with its counts below."""

from collections.abc import Iterable

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from headway.db.reads.backfill_views import BackfillProgress


def line(progress: BackfillProgress) -> str:
    """Return the progress in one line."""
    return " | ".join([headline(progress), *counts(progress)])


def headline(progress: BackfillProgress) -> str:
    """Return the percentage of its tasks that have ended."""
    percent = 100.0 * progress.tasks_ended / max(progress.tasks, 1)
    return f"[backfill progress: {percent:.1f}%]"


def counts(progress: BackfillProgress) -> list[str]:
    """Return how many runs and tasks there are, and how many tasks have ended, and how."""
    return [
        f"total dagruns: {progress.planned}",
        f"total tasks: {progress.tasks}",
        f"finished: {progress.tasks_ended}",
        f"succeeded: {progress.tasks_succeeded}",
        f"skipped: {progress.tasks_skipped}",
        f"failed: {progress.tasks_failed}",
    ]


def draw(steps: Iterable[BackfillProgress], console: Console) -> BackfillProgress:
    """Draw each step over the one before, at the width that the terminal has by then.

    Return the last one, which stays on the screen; there must be one.
    """
    bars = Bars(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[running]} dagruns running"),
        TimeElapsedColumn(),
        console=console,
        expand=True,
    )
    bar = bars.add_task("", total=None, running=0)
    with Live(console=console, refresh_per_second=4) as live:
        for progress in steps:
            bars.update(
                bar,
                description=headline(progress),
                completed=progress.tasks_ended,
                total=max(progress.tasks, 1),
                running=progress.running,
            )
            live.update(Group(bars, _below(progress, console.width)), refresh=True)
    return progress


def _below(progress: BackfillProgress, width: int) -> Text:
    """Return the counts: in one line where there is room, else what there is above what ended."""
    parts = counts(progress)
    words = " | ".join(parts)
    if len(words) > width:
        words = "\n".join(" | ".join(half) for half in (parts[:3], parts[3:]))
    text = Text(words)
    if progress.tasks_failed:
        text.highlight_regex(r"failed: \d+", "red")
    return text
