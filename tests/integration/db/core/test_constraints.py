"""What the database itself refuses, whatever a program asks of it."""

from uuid import UUID

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import IntegrityError

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import callbacks
from headway.db.execution.attempts import Report
from headway.db.scheduling import tasks
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway.testing.data.forced import UNGUARDED


@pytest.fixture
def queued_task(engine: Engine) -> int:
    """A task instance with one live attempt."""
    [task_id] = seed.queued(engine, seed.dag())
    return task_id


@pytest.fixture
def queued_callback(engine: Engine, queued_task: int) -> None:
    told = Report(
        key=AttemptKey(queued_task, 1, UUID(int=1)),
        outcome=Outcome.SUCCESS,
        following=seed.SUCCESS,
        callbacks=(CallbackEvent.SUCCESS,),
    )
    with engine.begin() as conn:
        callbacks.add_of_tasks(conn, [(told, TaskState.SUCCESS)])


def test_a_task_has_one_live_attempt(engine: Engine, queued_task: int) -> None:
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET state = 'scheduled'"))

    with pytest.raises(IntegrityError, match="task_attempt_one_live"), engine.begin() as conn:
        tasks.queue(conn, [queued_task], seed.START, seed.SCHEDULER)


def test_a_task_that_is_not_scheduled_gets_no_attempt(engine: Engine, queued_task: int) -> None:
    with engine.begin() as conn:
        tasks.queue(conn, [queued_task], seed.START, seed.SCHEDULER)
        assert conn.scalar(text("SELECT count(*) FROM task_attempt")) == 1


def test_an_interval_is_run_once_by_itself_and_ever_again_by_hand(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    again = text("""
        INSERT INTO dag_run (dag_id, run_id, run_type, schedule_date, interval_start,
                             interval_end, run_after, version_id)
        SELECT dag_id, :run_id, :run_type, schedule_date, interval_start, interval_end,
               run_after, version_id
          FROM dag_run
    """)
    with engine.begin() as conn:
        conn.execute(again, {"run_id": "by hand", "run_type": "manual"})

    with pytest.raises(IntegrityError, match="dag_run_one_automated"), engine.begin() as conn:
        conn.execute(again, {"run_id": "again", "run_type": "scheduled"})


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("dag_run SET state = 'lost'", "dag_run_state_check"),
        ("dag_run SET run_type = 'other'", "dag_run_run_type_check"),
        ("dag_run SET interval_end = interval_start - interval '1 s'", "dag_run_interval_check"),
        ("dag_run SET run_type = 'backfill'", "dag_run_backfill_check"),
        ("dag_run SET started_at = NULL", "dag_run_started_check"),
        ("dag_run SET state = 'success'", "dag_run_ended_check"),
        ("dag_run SET ended_at = now()", "dag_run_ended_check"),
        ("task_instance SET state = 'lost'", "task_instance_state_check"),
        ("task_instance SET state = 'up_for_retry'", "task_instance_retry_check"),
        ("task_instance SET retry_at = now()", "task_instance_retry_check"),
        ("task_attempt SET attempt = 0", "task_attempt_attempt_check"),
        ("task_attempt SET phase = 'lost'", "task_attempt_phase_check"),
        ("task_attempt SET outcome = 'lucky'", "task_attempt_outcome_"),
        ("task_attempt SET phase = 'ended', ended_at = now()", "task_attempt_outcome_when_ended"),
        ("task_attempt SET phase = 'ended', outcome = 'lost'", "task_attempt_ended_check"),
        ("task_attempt SET phase = 'running'", "task_attempt_claimed_check"),
        ("task_attempt SET phase = 'stopping'", "task_attempt_claimed_check"),
        ("pool SET slots = -1", "pool_slots_check"),
        ("callback SET state = 'lost'", "callback_state_check"),
        ("callback SET event = 'joy'", "callback_event_check"),
        ("callback SET attempt = NULL", "callback_attempt_check"),
        ("callback SET state = 'running'", "callback_claimed_check"),
        ("callback SET state = 'success'", "callback_ended_check"),
        ("callback SET ended_at = now()", "callback_ended_check"),
    ],
)
@pytest.mark.usefixtures("queued_task", "queued_callback")
def test_a_row_that_contradicts_itself_is_refused(
    engine: Engine, change: str, constraint: str
) -> None:
    with engine.begin() as conn:
        conn.execute(UNGUARDED)  # or the table of moves would refuse it first
        with pytest.raises(IntegrityError, match=constraint):
            conn.execute(text(f"UPDATE {change}"))
        conn.rollback()


def test_a_backfill_of_no_runs_at_once_is_refused(engine: Engine) -> None:
    seed.store(engine, seed.dag())
    with (
        pytest.raises(IntegrityError, match="backfill_max_active_runs_check"),
        engine.begin() as conn,
    ):
        conn.execute(
            text("""
                INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
                VALUES ('etl', now(), now(), 0, 0)
            """)
        )
