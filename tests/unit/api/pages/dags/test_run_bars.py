"""The bars of a DAG's latest runs."""

from headway.db.reads.charts.recent_runs import RecentRun
from headway.domain.states import RunState
from headway_api.pages.dags.run_bars import HEIGHT, bars


def _run(seconds: float | None) -> RecentRun:
    state = RunState.RUNNING if seconds is None else RunState.SUCCESS
    return RecentRun("r", state, seconds)


def test_heights_are_shares_of_the_longest_run() -> None:
    shown = bars([_run(60), _run(30), _run(0.001), _run(None)])

    assert [bar.height for bar in shown.bars] == [HEIGHT, HEIGHT // 2, 4, HEIGHT]
    assert all(bar.y + bar.height == HEIGHT for bar in shown.bars)
    assert [bar.x for bar in shown.bars] == [0, 7, 14, 21]
    assert shown.width == 28


def test_runs_that_took_no_time_are_whole_bars() -> None:
    assert [bar.height for bar in bars([_run(0.0)]).bars] == [HEIGHT]
