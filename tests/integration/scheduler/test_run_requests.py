"""Runs that tasks ask for: what a user may trigger, of the task's own bundle, and with an event."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Engine, text

from headway.db.access.logins import Login
from headway.db.reads import event_views
from headway.db.scheduling import queued_runs
from headway.domain.dag.param_schema import ParamSchema
from headway.domain.dag.run_request import RequestAnswer, RunAnswer
from headway.domain.dag.spec import MapInput
from headway.domain.states import Outcome, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import run_requests, seed
from headway.testing.data.forced import force
from headway.testing.data.run_requests import TARGET, ask, asking, run_ids, try_again
from headway.testing.database.logins import logged_in
from headway.timetables.kinds.delta import TimeDeltaTimetable
from headway_scheduler.passes.answer_requests import answer_requests
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 10 * seed.DAY
RUN = text("""
    SELECT run_type, state, conf, schedule_date <= now() AS is_past FROM dag_run WHERE dag_id = :dag
""")
STATE = text("SELECT state FROM dag_run WHERE dag_id = :dag AND run_id = :run")


def answered(engine: Engine, replica: Replica, key: Any, **wanted: Any) -> RunAnswer:
    assert ask(engine, key, **wanted)
    assert answer_requests(replica, NOW) == 1
    found = run_requests.answer(engine, key)
    assert found is not None
    return found


def test_a_run_is_created_as_a_user_triggers_one(engine: Engine, replica: Replica) -> None:
    key = asking(engine)

    found = answered(engine, replica, key, conf={"a": 1}, note="because")

    assert found.answer is RequestAnswer.CREATED
    assert run_ids(engine) == [found.run_id]
    with engine.connect() as conn:
        row = conn.execute(RUN, {"dag": TARGET}).one()
        [event] = event_views.events(conn, TARGET, found.run_id)
    assert tuple(row) == ("manual", "queued", {"a": 1}, True)
    assert event.actor == f"scheduler:{replica.me.id}"
    assert event.details["reason"] == "because"
    assert event.details["by_task"] == {
        "dag_id": "asks",
        "run_id": f"scheduled__{seed.START.isoformat()}",
        "task": "work",
        "attempt": 1,
    }
    assert answer_requests(replica, NOW) == 0


def test_requests_of_one_moment_are_runs_of_their_own(engine: Engine, replica: Replica) -> None:
    key = asking(engine)
    ask(engine, key)
    ask(engine, key, 2)
    with engine.begin() as conn:
        conn.execute(text("UPDATE run_request SET created_at = '2024-02-01Z'"))

    assert answer_requests(replica, NOW) == 2

    assert len(set(run_ids(engine))) == 2


def test_a_date_names_the_run_and_its_interval(engine: Engine, replica: Replica) -> None:
    key = asking(engine)
    date = seed.START + 3 * seed.DAY

    found = answered(engine, replica, key, logical_date=date)

    assert found.run_id == f"manual__{date.isoformat()}"
    with engine.connect() as conn:
        starts = text("SELECT interval_start FROM dag_run WHERE dag_id = :dag")
        assert conn.scalar(starts, {"dag": TARGET}) == date - seed.DAY


def test_one_that_is_there_is_left_as_it_is(engine: Engine, replica: Replica) -> None:
    key = asking(engine)
    first = answered(engine, replica, key, run_id="mine")
    ask(engine, key, 2, run_id="mine", conf={"b": 2})
    answer_requests(replica, NOW)

    assert first == RunAnswer(RequestAnswer.CREATED, "mine")
    assert run_requests.answer(engine, key, 2) == RunAnswer(RequestAnswer.EXISTS, "mine")
    assert run_ids(engine) == ["mine"]


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        ({"dag_id": "none"}, "There is no DAG 'none' in the bundle of DAG 'asks'"),
        ({"run_id": f"scheduled__{seed.START.isoformat()}"}, "Only runs of a schedule"),
        ({"run_id": "a/b"}, "no slash"),
        ({"conf": {"day": "x"}}, "must be a whole number"),
        ({"conf": {"dya": 1}}, "did you mean day?"),
    ],
)
def test_what_a_user_may_not_trigger_is_refused(
    engine: Engine, replica: Replica, wanted: dict[str, Any], reason: str
) -> None:
    key = asking(engine)
    schema = ParamSchema(name="day", schema={"type": "integer"})
    seed.store(engine, replace(seed.dag(dag_id=TARGET), params={"day": 1}, param_schemas=(schema,)))

    found = answered(engine, replica, key, **wanted)

    assert found.answer is RequestAnswer.REFUSED
    assert reason in str(found.reason)
    assert run_ids(engine) == []


@pytest.mark.parametrize("change", ["bundle = 'elsewhere'", "active = false"])
def test_a_dag_of_another_bundle_or_without_a_file_is_not_there(
    engine: Engine, replica: Replica, change: str
) -> None:
    key = asking(engine)
    with engine.begin() as conn:
        conn.execute(text(f"UPDATE dag SET {change} WHERE dag_id = 'target'"))

    found = answered(engine, replica, key)

    assert "There is no DAG 'target' in the bundle of DAG 'asks'" in str(found.reason)
    assert run_ids(engine) == []


@pytest.mark.parametrize(
    ("moved", "is_there"), [("asks", True), ("asks, target", False), ("target", False)]
)
def test_an_attempt_of_a_dag_that_has_moved_triggers_what_its_version_s_bundle_has(
    engine: Engine, replica: Replica, moved: str, *, is_there: bool
) -> None:
    """The files of a bundle choose the conf of no run in another bundle."""
    key = asking(engine)
    with engine.begin() as conn:
        move = text("UPDATE dag SET bundle = 'elsewhere' WHERE dag_id = ANY (:dag_ids)")
        conn.execute(move, {"dag_ids": moved.split(", ")})

    found = answered(engine, replica, key)

    assert (found.answer is RequestAnswer.CREATED) is is_there
    assert len(run_ids(engine)) == is_there


@pytest.mark.parametrize("unless_paused", [True, False])
def test_a_run_of_a_paused_dag_waits_unless_it_is_not_wanted(
    engine: Engine, replica: Replica, *, unless_paused: bool
) -> None:
    key = asking(engine, paused=True)

    found = answered(engine, replica, key, unless_paused=unless_paused)

    expected = RequestAnswer.REFUSED if unless_paused else RequestAnswer.CREATED
    assert found.answer is expected
    assert len(run_ids(engine)) == (not unless_paused)


@pytest.mark.parametrize("state", ["success", "failed"])
def test_a_run_that_has_ended_is_reset(engine: Engine, database_url: str, state: str) -> None:
    """As headway_scheduler, for which the database has an exception with an event."""
    mapped = replace(seed.task("m", "work"), mapped_over=(MapInput(argument="x", length=2),))
    me = seed.register(engine)
    key = asking(engine)
    seed.store(engine, seed.dag(seed.task("work"), mapped, dag_id=TARGET))
    with logged_in(database_url, Login.SCHEDULER) as scheduler:
        replica = Replica(scheduler, me, read(SchedulerSettings))
        answered(engine, replica, key, run_id="mine")
        with engine.begin() as conn:
            number = conn.scalar(text("SELECT id FROM dag_run WHERE run_id = 'mine'"))
            queued_runs.start(conn, [number], seed.START, seed.AGING)
        force(engine, number, work="success", m=f"{state} success")
        end(engine, state)
        ask(engine, key, 2, run_id="mine", reset=True, note="again")
        assert answer_requests(replica, NOW) == 1

    assert run_requests.answer(engine, key, 2) == RunAnswer(RequestAnswer.RESET, "mine")
    assert state_of(engine) == "queued"
    assert seed.task_states(engine, number) == {"work": "none", "m": "none"}
    with engine.connect() as conn:
        event = event_views.events(conn, TARGET, "mine")[0]
    assert event.action == "run.clear"
    assert event.details["reason"] == "again"
    assert event.details["before"] == {
        "run": state,
        "tasks": {"work": {"success": 1}, "m": dict(Counter([state, "success"]))},
    }


def end(engine: Engine, state: str) -> None:
    ended = text("UPDATE dag_run SET state = :state, ended_at = now() WHERE run_id = 'mine'")
    with engine.begin() as conn:
        conn.execute(ended, {"state": state})


def state_of(engine: Engine) -> Any:
    with engine.connect() as conn:
        return conn.scalar(STATE, {"dag": TARGET, "run": "mine"})


def test_a_run_that_has_not_ended_is_not_reset(engine: Engine, replica: Replica) -> None:
    key = asking(engine)
    answered(engine, replica, key, run_id="mine")
    ask(engine, key, 2, run_id="mine", reset=True)
    answer_requests(replica, NOW)

    found = run_requests.answer(engine, key, 2)
    assert found is not None
    assert "is queued; reset_dag_run resets one that has ended" in str(found.reason)


@pytest.mark.parametrize("ends", ["ended", "stopping"])
def test_nothing_is_created_for_an_attempt_that_runs_no_more(
    engine: Engine, replica: Replica, ends: str
) -> None:
    key = asking(engine)
    ask(engine, key)
    if ends == "ended":
        seed.report(engine, [key])
    else:
        seed.tell_to_stop(engine, [key], TaskState.FAILED)

    assert answer_requests(replica, NOW) == 1

    assert run_ids(engine) == []


def test_an_attempt_takes_over_what_a_lost_one_has_triggered(
    engine: Engine, replica: Replica
) -> None:
    """Also over an attempt between them that was lost before it could ask."""
    key = asking(engine)
    first = answered(engine, replica, key, conf={"a": 1})
    second = try_again(engine, key, Outcome.LOST)
    third = try_again(engine, second, Outcome.LOST)

    assert answered(engine, replica, third, conf={"a": 1}) == first
    assert run_ids(engine) == [first.run_id]


@pytest.mark.parametrize("change", [{"conf": {"a": 2}}, {"logical_date": NOW}, {"run_id": "x"}])
def test_another_request_of_the_next_attempt_is_a_run_of_its_own(
    engine: Engine, replica: Replica, change: dict[str, Any]
) -> None:
    key = asking(engine)
    first = answered(engine, replica, key, conf={"a": 1})
    second = try_again(engine, key, Outcome.LOST)

    found = answered(engine, replica, second, **{"conf": {"a": 1}, **change})

    assert run_ids(engine) == [first.run_id, found.run_id]


def test_a_run_that_is_not_there_any_more_is_not_taken_over(
    engine: Engine, replica: Replica
) -> None:
    key = asking(engine)
    first = answered(engine, replica, key)
    second = try_again(engine, key, Outcome.LOST)
    with engine.begin() as conn:
        conn.execute(text("DELETE FROM dag_run WHERE dag_id = 'target'"))

    found = answered(engine, replica, second)

    assert found.run_id != first.run_id
    assert run_ids(engine) == [found.run_id]


def test_an_attempt_after_a_failure_triggers_anew(engine: Engine, replica: Replica) -> None:
    """Also if one that was lost comes in between: what it took over was of no use before."""
    key = asking(engine)
    first = answered(engine, replica, key)
    second = try_again(engine, key, Outcome.FAILED)
    third = try_again(engine, second, Outcome.LOST)

    found = answered(engine, replica, third)

    assert run_ids(engine) == [first.run_id, found.run_id]


def test_a_task_that_was_cleared_triggers_anew(engine: Engine, replica: Replica) -> None:
    key = asking(engine)
    first = answered(engine, replica, key)
    second = try_again(engine, key, Outcome.LOST)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET failures = 0, losses = 0"))

    found = answered(engine, replica, second)

    assert run_ids(engine) == [first.run_id, found.run_id]


def test_a_timetable_that_computes_for_too_long_is_interrupted(
    engine: Engine, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway_scheduler.passes.answer_requests.LONGEST_PLAN", 0.2)

    def compute(*_: object) -> None:
        while True:
            pass

    monkeypatch.setattr(TimeDeltaTimetable, "infer_manual_data_interval", compute)

    found = answered(engine, replica, asking(engine))

    expected = "It takes more than 0.2 s to tell the run's interval."
    assert found == RunAnswer(RequestAnswer.REFUSED, reason=expected)


def test_a_request_that_fails_stops_no_other(engine: Engine, replica: Replica) -> None:
    key = asking(engine)
    ask(engine, key)
    ask(engine, key, 2, run_id="mine")
    broken = text("UPDATE dag_version SET serialized = 'x' WHERE dag_id = 'target'; ")
    seed.store(engine, seed.dag(dag_id="other"))
    ask(engine, key, 3, dag_id="other", run_id="theirs")
    with engine.begin() as conn:
        conn.execute(broken)

    assert answer_requests(replica, NOW) == 1

    assert run_ids(engine, "other") == ["theirs"]
    assert run_requests.answer(engine, key) is None
