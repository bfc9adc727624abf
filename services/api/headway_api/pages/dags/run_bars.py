"""The latest runs of a DAG as bars: the height is the duration, the colour and mark the state."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headway.db.reads.charts.recent_runs import RecentRun
from headway_api.pages.frame.durations import in_words

HEIGHT: Final = 24
WIDTH: Final = 7
_LEAST: Final = 4


@dataclass(frozen=True, slots=True)
class RunBar:
    """A run: where its bar is, in pixels, and what it tells."""

    run: RecentRun
    x: int
    y: int
    height: int

    @property
    def text(self) -> str:
        """What the bar tells of the run: its id, its state, and how long it took."""
        took = "" if self.run.seconds is None else f", {in_words(self.run.seconds)}"
        return f"{self.run.run_id}: {self.run.state}{took}"


@dataclass(frozen=True, slots=True)
class RunBars:
    """The bars of a DAG, the oldest run first."""

    bars: Sequence[RunBar]
    width: int
    height: int = HEIGHT


def bars(runs: Sequence[RecentRun]) -> RunBars:
    """Return a bar for each run; the longest one has the whole height, one that goes on too."""
    longest = max((run.seconds for run in runs if run.seconds), default=None)
    heights = [_height(run.seconds, longest) for run in runs]
    shown = [
        RunBar(run, nth * WIDTH, HEIGHT - height, height)
        for nth, (run, height) in enumerate(zip(runs, heights, strict=True))
    ]
    return RunBars(shown, len(runs) * WIDTH)


def _height(seconds: float | None, longest: float | None) -> int:
    if seconds is None or not longest:
        return HEIGHT
    return max(_LEAST, round(HEIGHT * seconds / longest))
