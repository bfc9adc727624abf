"""The chart of a run's attempts."""

from datetime import UTC, datetime, timedelta

from headway.actions.dags.outlines import DagOutline
from headway.db.reads.charts.run_times import GanttBar
from headway.decide.charts.critical_path import PieceKind
from headway.decide.charts.outline import outlined
from headway.domain.dag.task_groups import GroupSpec
from headway.domain.states import Outcome, TaskState
from headway_api.native.runs.charts import CriticalPiece
from headway_api.pages.runs.gantt_svg import GanttGroups, GanttRow, drawn

START = datetime(2024, 1, 1, tzinfo=UTC)


def _at(seconds: float | None) -> datetime | None:
    return None if seconds is None else START + timedelta(seconds=seconds)


def _bar(
    task_id: str,
    attempt: int,
    queued: float | None,
    started: float | None = None,
    ended: float | None = None,
) -> GanttBar:
    return GanttBar(
        task_id=task_id,
        map_index=-1,
        state=TaskState.SUCCESS if ended else TaskState.RUNNING,
        attempt=attempt,
        outcome=Outcome.SUCCESS if ended else None,
        pool="default_pool",
        queue="default",
        scheduled_at=_at(queued),
        queued_at=_at(queued),
        started_at=_at(started),
        ended_at=_at(ended),
        worker=None,
    )


def _piece(task_id: str) -> CriticalPiece:
    return CriticalPiece(
        task_id=task_id,
        map_index=-1,
        attempt=1,
        kind=PieceKind.SCHEDULING,
        start=START,
        end=_end(40),
        seconds=40.0,
        pool="small",
        queue="default",
    )


def _end(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_an_attempt_waits_and_then_runs() -> None:
    (row,) = drawn([_bar("a", 1, 0, 25, 100)], [], START, _end(100)).rows

    assert [(it.kind, it.x, it.width) for it in row.spans] == [
        ("waiting", 0.0, 25.0),
        ("success", 25.0, 75.0),
    ]
    assert row.spans[1].title == "attempt 1: success, 1 min 15 s"


def test_what_has_not_ended_goes_on_to_the_present() -> None:
    waits, runs = drawn([_bar("a", 1, 50), _bar("b", 1, 0, 10)], [], START, _end(100)).rows

    assert [(it.kind, it.x, it.width) for it in waits.spans] == [("waiting", 50.0, 50.0)]
    assert [(it.kind, it.x, it.width) for it in runs.spans] == [
        ("waiting", 0.0, 10.0),
        ("running", 10.0, 90.0),
    ]


def test_attempts_of_an_instance_share_a_row_and_one_without_any_is_empty() -> None:
    bars = [_bar("a", 1, 0, 10, 20), _bar("a", 2, 30, 40, 100), _bar("b", 0, None)]

    first, second = drawn(bars, [], START, _end(100)).rows

    assert [it.kind for it in first.spans] == ["waiting", "success", "waiting", "success"]
    assert (second.row.task_id, list(second.spans)) == ("b", [])


def test_the_critical_path_is_on_the_rows_of_its_tasks() -> None:
    piece = _piece("a")

    a, b = drawn([_bar("a", 1, 0, 40, 50), _bar("b", 1, 0, 1, 2)], [piece], START, _end(80)).rows

    assert [(it.kind, it.x, it.width) for it in a.critical] == [("scheduling", 0.0, 50.0)]
    assert list(b.critical) == []


def test_a_group_has_a_bar_from_its_first_task_to_its_last() -> None:
    bars = [_bar("g.a", 1, 10, 20, 30), _bar("b", 1, 0, 1, 2), _bar("g.c", 1, 30, 40, 60)]
    group = GroupSpec(group_id="g", tasks=("g.a", "g.c"))
    states = {it.task_id: {TaskState.SUCCESS: 1} for it in bars} | {"g.c": {TaskState.FAILED: 1}}
    outline = DagOutline([group])

    def rows(*folded: str) -> list[GanttRow]:
        listed = outlined([bar.task_id for bar in bars], [group], set(folded))
        groups = GanttGroups(listed, outline, bars, states)
        shown = [bar for bar in bars if not folded or bar.task_id == "b"]
        return list(drawn(shown, [_piece("g.a")], START, _end(100), groups).rows)

    found = rows()
    assert [(it.row.name, it.row.depth) for it in found] == [("g", 0), ("a", 1), ("c", 1), ("b", 0)]
    assert found[0].counts == {TaskState.FAILED: 1, TaskState.SUCCESS: 1}
    assert [(it.kind, it.x, it.width) for it in found[0].spans] == [
        ("waiting", 10.0, 10.0),
        ("failed", 20.0, 40.0),
    ]
    assert found[0].spans[1].title == "1 failed, 1 success, 40 s"
    assert [len(it.critical) for it in found] == [0, 1, 0, 0]
    assert [(it.row.name, len(it.critical)) for it in rows("g")] == [("g", 1), ("b", 0)]


def test_a_group_that_goes_on_has_a_bar_to_the_present_and_one_without_attempts_none() -> None:
    group = GroupSpec(group_id="g", tasks=("g.a", "g.b"))
    listed = outlined(["g.a", "g.b"], [group])
    states = {"g.a": {TaskState.RUNNING: 1}}

    def spans(*bars: GanttBar) -> list[tuple[str, float, float]]:
        groups = GanttGroups(listed, DagOutline([group]), bars, states)
        row = drawn([], [], START, _end(100), groups).rows[0]
        return [(it.kind, it.x, it.width) for it in row.spans]

    assert spans(_bar("g.a", 1, 0, 10), _bar("g.b", 1, 0, 1, 2)) == [
        ("waiting", 0.0, 1.0),
        ("running", 1.0, 99.0),
    ]
    assert spans(_bar("g.a", 1, 50)) == [("waiting", 50.0, 50.0)]
    assert spans(_bar("g.a", 0, None)) == []


def test_the_shortest_bar_can_be_seen_and_ticks_are_few() -> None:
    chart = drawn([_bar("a", 1, 0, 0, 0.001)], [], START, _end(100_000))

    assert chart.rows[0].spans[0].width > 0.1
    assert 2 <= len(chart.ticks) <= 9
    assert [tick.text for tick in drawn([], [], START, _end(20)).ticks][:3] == [
        "0",
        "5.0 s",
        "10 s",
    ]


def test_a_run_that_took_no_time_has_a_chart() -> None:
    assert [tick.x for tick in drawn([], [], START, START).ticks] == [0.0]
