"""The bars of a DAG's latest runs."""

import re
from pathlib import Path

import pytest

import headway_api.pages
from headway.db.reads.charts.recent_runs import RecentRun
from headway.domain.states import RunState
from headway_api.pages.dags.run_bars import HEIGHT, bars

STYLES = Path(headway_api.pages.__file__).with_name("static") / "headway.css"


def _run(seconds: float | None, run_id: str = "r") -> RecentRun:
    state = RunState.RUNNING if seconds is None else RunState.SUCCESS
    return RecentRun(run_id, state, seconds)


def _heights(*seconds: float | None) -> list[int]:
    shown = bars("d", [_run(each) for each in seconds])
    return [int(each) for each in re.findall(r'class="state s-\w+ h(\d+)"', shown)]


def test_heights_are_shares_of_the_longest_run() -> None:
    assert _heights(60, 30, 0.001, None) == [HEIGHT, HEIGHT // 2, 4, HEIGHT]


def test_runs_that_took_no_time_are_whole_bars() -> None:
    assert _heights(0.0) == [HEIGHT]


@pytest.mark.parametrize("seconds", range(61))
def test_each_height_that_is_not_the_whole_has_a_style(seconds: int) -> None:
    _, height = _heights(60, seconds)

    assert height == HEIGHT or f".bars .h{height} {{" in STYLES.read_text()


def test_a_bar_tells_of_its_run_and_leads_to_it() -> None:
    shown = bars('d"<', [_run(200, 'r"<'), _run(None)])

    assert 'href="/dags/d%22%3C/runs/r%22%3C" title="r&#34;&lt;: success, 3 min 20 s"' in shown
    assert 'title="r: running"' in shown
    assert 'aria-label="Latest runs of d&#34;&lt;"' in shown


def test_a_dag_without_runs_has_no_bars() -> None:
    assert not bars("d", [])
