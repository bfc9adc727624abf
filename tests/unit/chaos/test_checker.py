"""Each check of chaos finds what it is for, and nothing in a history in which all is well."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.chaos.checker import Expected, violations
from tests.chaos.history import AttemptRow, History, Record, RunRow, SkippedRow, TaskName

from headway.domain.dag.retry import MOST_LOSSES

START = datetime(2026, 1, 1, tzinfo=UTC)
STEP = timedelta(seconds=10)
LONG = ("long", "outlasts_a_lease")
EXPECTED = Expected(START, START + 3 * STEP, frozenset({LONG[0]}), frozenset())


def task(run: int, dag_id: str = LONG[0], task_id: str = LONG[1]) -> TaskName:
    return TaskName(dag_id, f"run-{run}", task_id, -1)


def lived(of: TaskName, attempt: int, begin: float, end: float, run: int) -> list[Record]:
    """The records of an attempt that lived from `begin` to `end`, seconds after its run was due."""
    due = (START + (run + 1) * STEP).timestamp()
    at = {"start": begin, "alive": end - 0.1, "end": end}
    return [Record(what, of, attempt, due + seconds, due + seconds) for what, seconds in at.items()]


def run_row(number: int, dag_id: str = LONG[0]) -> RunRow:
    begin, end = START + number * STEP, START + (number + 1) * STEP
    return RunRow(dag_id, f"run-{number}", "success", begin, end, end, end)


def good() -> History:
    """Three runs of one task, of which the second was lost once."""
    records = [
        *lived(task(0), 1, 1, 5, 0),
        *lived(task(1), 1, 1, 5, 1)[:2],
        *lived(task(1), 2, 7, 9, 1),
        *lived(task(2), 1, 1, 5, 2),
    ]
    ends = [record for record in records if record.what == "end"]
    records += [replace(record, what="callback", at=record.at + 1) for record in ends]
    attempts = [
        AttemptRow(task(0), 1, "success"),
        AttemptRow(task(1), 1, "lost"),
        AttemptRow(task(1), 2, "success"),
        AttemptRow(task(2), 1, "success"),
    ]
    return History(records, attempts, [run_row(n) for n in range(3)], [])


def found(history: History, expected: Expected = EXPECTED) -> list[str]:
    return violations(history, expected)


def moved(history: History, attempt: int, seconds: float) -> History:
    """The history with all that an attempt of the second run has written moved in time."""
    return replace(
        history,
        records=[
            replace(record, at=record.at + seconds, wall=record.wall + seconds)
            if (record.task, record.attempt) == (task(1), attempt)
            else record
            for record in history.records
        ],
    )


def test_a_history_in_which_all_is_well_has_no_violations() -> None:
    assert found(good()) == []


def test_a_history_without_anything_in_it() -> None:
    assert found(History([], [], [], [])) == [
        "long: no task was ever begun",
        f"long: no run from {EXPECTED.start} to {EXPECTED.end}",
    ]


def test_two_attempts_that_live_at_the_same_time() -> None:
    assert found(moved(good(), 2, -3)) == [
        "long.outlasts_a_lease of run-1: attempts 1 and 2 overlap by 0.90 s"
    ]


def test_an_attempt_that_is_begun_twice() -> None:
    history = good()
    history.records.append(replace(history.records[0], at=history.records[0].at + 0.1))

    assert found(history) == ["long.outlasts_a_lease of run-0: attempt 1 was begun 2 times"]


def test_an_attempt_that_the_database_does_not_have() -> None:
    history = replace(good(), attempts=good().attempts[:3])

    assert found(history) == [
        "long.outlasts_a_lease of run-2: attempt 1 ran and is not in the database"
    ]


@pytest.mark.parametrize("map_index", [0, 1])
def test_attempts_of_instances_that_a_user_had_expanded_anew_are_gone(map_index: int) -> None:
    history, expected = good(), replace(EXPECTED, touched={("long", "run-2")})
    mapped = task(2)._replace(map_index=map_index)
    history.records[:] = [
        replace(record, task=mapped) if record.task == task(2) else record
        for record in history.records
    ]
    history = replace(history, attempts=history.attempts[:3])

    assert len(found(history)) == 1
    assert len(found(history, expected)) == (1 if map_index == 0 else 0)


def test_a_success_that_never_came_to_its_end() -> None:
    history = good()
    history.records[:] = [
        record
        for record in history.records
        if not (record.task == task(0) and record.what == "end")
    ]

    assert found(history) == [
        "long.outlasts_a_lease of run-0: attempt 1 is a success and did not end"
    ]


def test_a_success_of_which_no_callback_heard() -> None:
    history = good()
    history.records[:] = [record for record in history.records if record.what != "callback"]

    assert len(found(history)) == 3
    assert found(history)[0] == "long.outlasts_a_lease of run-0: no callback of attempt 1"

    history.attempts[0] = replace(history.attempts[0], is_stopped=True)
    assert len(found(history)) == 2


@pytest.mark.parametrize(
    ("state", "touched"), [("running", True), ("queued", True), ("failed", False)]
)
def test_a_run_that_does_not_end_well(state: str, touched: bool) -> None:
    history = good()
    history.runs[1] = replace(history.runs[1], state=state)
    expected = replace(EXPECTED, touched={("long", "run-1")} if touched else set())

    assert len(found(history, expected)) == 1


@pytest.mark.parametrize("losses", [MOST_LOSSES, MOST_LOSSES + 1])
def test_a_run_may_fail_of_which_a_task_was_lost_too_often(losses: int) -> None:
    history = good()
    history.runs[1] = replace(history.runs[1], state="failed")
    history.attempts[1:3] = [AttemptRow(task(1), number, "lost") for number in range(1, losses + 1)]

    failed = "run run-1 of long failed"
    assert (failed in found(history)) is (losses <= MOST_LOSSES)


def test_a_run_that_a_user_ended_may_fail() -> None:
    history = good()
    history.runs[1] = replace(history.runs[1], state="failed")

    assert found(history, replace(EXPECTED, touched={("long", "run-1")})) == []


def test_a_run_that_is_created_before_it_is_due() -> None:
    history = good()
    early = history.runs[1].created_at - timedelta(microseconds=1)
    history.runs[1] = replace(history.runs[1], created_at=early)

    assert found(history) == ["run run-1 of long was created before it was due"]


def test_a_task_that_is_begun_before_its_run_is_due() -> None:
    history = good()
    history.records[0] = replace(history.records[0], wall=history.records[0].wall - 2)

    assert found(history) == ["long.outlasts_a_lease of run-0 was begun before its run was due"]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_an_interval_without_a_run(missing: int) -> None:
    history = good()
    history.runs[missing] = replace(run_row(missing), dag_id="other")
    assert "long: no run" in " ".join(found(history)).replace("  ", " ")


def test_an_interval_that_was_skipped_for_a_reason_needs_no_run() -> None:
    history = good()
    gone = history.runs.pop(1)
    history.records[:] = [record for record in history.records if record.task.run_id != gone.run_id]
    history.attempts[:] = [
        attempt for attempt in history.attempts if attempt.task.run_id != gone.run_id
    ]
    history.skipped.append(SkippedRow("long", gone.interval_start, gone.interval_end))

    assert found(history) == []


def test_an_interval_with_two_runs() -> None:
    history = good()
    history.runs.append(replace(run_row(1), run_id="again"))

    assert len(found(history)) == 1
    assert found(history)[0].startswith("long: two runs from")


def test_a_task_that_is_begun_before_the_one_above_it_has_ended() -> None:
    history = good()
    upper, lower = task(0, "retried", "fails_first"), task(0, "retried", "follows")
    history.records.extend(lived(upper, 1, 1, 5, 0) + lived(lower, 1, 4, 6, 0))
    history.records.append(replace(history.records[-1], what="callback"))
    history.attempts.extend([AttemptRow(upper, 1, "success"), AttemptRow(lower, 1, "success")])

    assert "retried.follows of run-0 was begun before fails_first had ended" in found(history)


def test_an_attempt_after_a_success() -> None:
    history = good()
    history.records.extend(lived(task(2), 2, 7, 8, 2))
    history.attempts.append(AttemptRow(task(2), 2, "lost"))
    told = ["long.outlasts_a_lease of run-2: attempt 2 came after a success"]

    assert found(history) == told
    assert found(history, replace(EXPECTED, touched={("long", "run-2")})) == []
