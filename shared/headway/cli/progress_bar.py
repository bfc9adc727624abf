"""Draw how far a backfill has come as a bar, with its counts below, on a terminal."""

from collections.abc import Iterable

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.text import Text

from headway.cli.progress import counts, headline
from headway.db.reads.backfill_views import BackfillProgress


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
