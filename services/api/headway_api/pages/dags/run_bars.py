"""The latest runs of a DAG as bars: the height is the duration, the colour and title the state.

A bar is one element, and is made here and not by a template: a page has hundreds of them.
"""

from collections.abc import Sequence
from typing import Final

from markupsafe import Markup, escape

from headway.db.reads.charts.recent_runs import RecentRun
from headway_api.pages.frame import addresses
from headway_api.pages.frame.durations import in_words

HEIGHT: Final = 24
_STEP: Final = 2
_LEAST: Final = 4


def bars(dag_id: str, runs: Sequence[RecentRun]) -> Markup:
    """Return a link for each run, in the order of the runs; nothing if there is none."""
    if not runs:
        return Markup()
    longest = max((run.seconds for run in runs if run.seconds), default=None)
    links = "".join(_link(dag_id, run, _height(run.seconds, longest)) for run in runs)
    name = escape(dag_id)
    text = f'<div class="bars" role="group" aria-label="Latest runs of {name}">{links}</div>'
    return Markup(text)  # noqa: S704 - the names in it are escaped


def _link(dag_id: str, run: RecentRun, height: int) -> str:
    """Return the element of a run: the class says how high it is, for no style may stand there."""
    address = escape(addresses.run(dag_id, run.run_id))
    took = "" if run.seconds is None else f", {in_words(run.seconds)}"
    title = f"{escape(run.run_id)}: {run.state}{took}"
    return f'<a class="state s-{run.state} h{height}" href="{address}" title="{title}"></a>'


def _height(seconds: float | None, longest: float | None) -> int:
    """Return pixels: the longest run has the whole height, and so has one that goes on."""
    if seconds is None or not longest:
        return HEIGHT
    return max(_LEAST, _STEP * round(HEIGHT * seconds / longest / _STEP))
