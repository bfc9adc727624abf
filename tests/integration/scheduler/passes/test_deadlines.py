"""Deadlines of runs and tasks: entered with the run, judged once, whoever dies meanwhile."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from typer.testing import CliRunner

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.actions.change import Author
from headway.actions.runs.clear import clear_tasks
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.cli.main import app
from headway.db.core import run_deadlines
from headway.db.parsing import pins
from headway.db.scheduling import missed_deadlines, queued_runs, runs
from headway.decide.changes.clear import Selection
from headway.domain.dag.deadline import DeadlineMoment, DeadlineSpec
from headway.domain.dag.spec import DagSpec
from headway.testing.data import seed
from headway.testing.data.forced import force
from headway.testing.database.interleaving import just_before
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.judge_deadlines import judge_deadlines
from headway_scheduler.replica.replica import Replica

HOUR = timedelta(hours=1)
SECOND = timedelta(seconds=1)
DUE = seed.START + seed.DAY
OVER = DUE + HOUR + SECOND
RUN = f"scheduled__{seed.START.isoformat()}"
HOURLY = DeadlineSpec(seconds=3600.0)
FROM_START = DeadlineSpec(reference=DeadlineMoment.START, seconds=3600.0)
SPEC = replace(seed.dag(seed.task("a"), replace(seed.task("b"), slas=(HOURLY,))))
BOTH = replace(SPEC, deadlines=(HOURLY,))


def rows(engine: Engine) -> list[tuple[str | None, str, datetime | None]]:
    """Return task, state and due date of each deadline there is."""
    with engine.connect() as conn:
        found = conn.execute(text("SELECT task_id, state, due_at FROM deadline ORDER BY id"))
        return [tuple(row) for row in found]


def missed(engine: Engine) -> list[tuple[str, str | None]]:
    """Return run and task of each missed deadline that the journal has."""
    with engine.connect() as conn:
        events = "SELECT run_id, task_id FROM event WHERE action = 'deadline.missed' ORDER BY id"
        return [tuple(row) for row in conn.execute(text(events))]


def started(engine: Engine, spec: DagSpec = BOTH) -> int:
    """Create a run with its deadlines, and start it when it is due."""
    [run] = seed.create_runs(engine, seed.store(engine, spec), [0])
    with engine.begin() as conn:
        run_deadlines.enter(conn, [run])
        queued_runs.start(conn, [run], DUE, seed.AGING)
    return run


def end_run(engine: Engine, run: int, at: datetime) -> None:
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag_run SET state = 'success', ended_at = :at WHERE id = :run"),
            {"at": at, "run": run},
        )


def test_a_run_of_a_schedule_gets_its_deadlines_when_it_is_created(
    engine: Engine, replica: Replica
) -> None:
    late = DeadlineSpec(reference=DeadlineMoment.FIXED, at=DUE, seconds=60.0)
    seed.store(engine, replace(BOTH, deadlines=(HOURLY, FROM_START, late), catchup=True))
    seen: list[object] = []
    event.listen(engine, "before_execute", lambda _c, statement, *_: seen.append(statement))

    create_runs(replica, DUE)

    assert rows(engine) == [
        (None, "open", DUE + HOUR),
        (None, "open", None),
        ("b", "open", DUE + HOUR),
    ]
    assert run_deadlines.ENTER in seen


def test_a_dag_without_deadlines_costs_no_statement(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag())
    seen: list[object] = []
    event.listen(engine, "before_execute", lambda _c, statement, *_: seen.append(statement))

    create_runs(replica, DUE)

    assert runs.CREATE in seen
    assert not {run_deadlines.ENTER, run_deadlines.BY_NAME} & set(seen)


def test_a_deadline_counts_from_the_moment_it_names(engine: Engine) -> None:
    queued = DeadlineSpec(reference=DeadlineMoment.QUEUED, seconds=60.0)
    to_come = DeadlineSpec(
        reference=DeadlineMoment.FIXED, at=datetime.max.replace(tzinfo=DUE.tzinfo, year=2999)
    )
    spec = replace(seed.dag(), deadlines=(queued, HOURLY, to_come))
    seed.store(engine, spec)
    with engine.begin() as conn:
        now = conn.execute(text("SELECT now()")).scalar_one()
        trigger(conn, TriggerRequest("etl", logical_date=seed.START), now, "user:ann")

    # One by hand is due when it is triggered, though it is about the past.
    assert [due for _, _, due in rows(engine)] == [
        now + 60 * SECOND,
        now + HOUR,
        to_come.at,
    ]


@pytest.mark.parametrize("asked", [True, False])
def test_runs_of_a_backfill_have_those_that_ask_for_it(engine: Engine, asked: bool) -> None:
    seed.store(engine, replace(seed.dag(), deadlines=(replace(FROM_START, backfills=asked),)))
    request = BackfillRequest("etl", seed.START, seed.START + seed.DAY, {})
    with engine.begin() as conn:
        now = conn.execute(text("SELECT now()")).scalar_one()
        create_backfill(conn, request, now, "user:ann")

    assert len(rows(engine)) == (2 if asked else 0)


def test_what_has_not_ended_has_missed_its_deadline_and_it_is_recorded_once(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    started(engine)

    assert judge_deadlines(new_replica(), OVER - timedelta(microseconds=1)) == 0
    assert [judge_deadlines(new_replica(), OVER) for _ in range(2)] == [2, 0]

    assert [state for _, state, _ in rows(engine)] == ["missed", "missed"]
    assert missed(engine) == [(RUN, None), (RUN, "b")]


@pytest.mark.parametrize(("late", "state"), [(timedelta(0), "met"), (SECOND, "missed")])
def test_a_run_that_ends_in_time_has_met_its_deadline(
    engine: Engine, replica: Replica, late: timedelta, state: str
) -> None:
    end_run(engine, started(engine, replace(seed.dag(), deadlines=(HOURLY,))), DUE + HOUR + late)

    judge_deadlines(replica, OVER)

    assert rows(engine) == [(None, state, DUE + HOUR)]


def test_a_task_is_late_unless_all_its_instances_have_ended(
    engine: Engine, replica: Replica
) -> None:
    run = started(engine, SPEC)
    force(engine, run, a="running", b="success running")
    with engine.begin() as conn:
        ended = "UPDATE task_instance SET ended_at = :at WHERE state = 'success'"
        conn.execute(text(ended), {"at": DUE})

    judge_deadlines(replica, OVER)

    assert missed(engine) == [(RUN, "b")]


def test_a_task_that_ended_in_time_has_met_it_though_its_run_goes_on(
    engine: Engine, replica: Replica
) -> None:
    run = started(engine, SPEC)
    force(engine, run, a="running", b="success")
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET ended_at = :at"), {"at": DUE})

    judge_deadlines(replica, OVER)

    assert rows(engine) == [("b", "met", DUE + HOUR)]


def test_one_from_the_start_follows_the_start(engine: Engine, replica: Replica) -> None:
    [run] = seed.create_runs(
        engine, seed.store(engine, replace(seed.dag(), deadlines=(FROM_START,))), [0]
    )
    with engine.begin() as conn:
        run_deadlines.enter(conn, [run])
        asked = conn.execute(text("SELECT now()")).scalar_one()

    assert judge_deadlines(replica, asked + HOUR) == 1  # it has not started: looked at, still open
    with engine.begin() as conn:
        queued_runs.start(conn, [run], asked + HOUR + 10 * SECOND, seed.AGING)
    assert judge_deadlines(replica, asked + 2 * HOUR) == 1
    assert rows(engine)[0][1:] == ("open", None)
    end_run(engine, run, asked + 2 * HOUR)
    with engine.begin() as conn:
        clear_tasks(conn, "etl", RUN, Selection(), Author("user:ann"))
        queued_runs.start(conn, [run], asked + 2 * HOUR, seed.AGING)
    assert judge_deadlines(replica, asked + 2 * HOUR + 11 * SECOND) == 1
    assert rows(engine)[0][1:] == ("open", None)
    assert judge_deadlines(replica, asked + 3 * HOUR + SECOND) == 1

    assert rows(engine)[0][1:] == ("missed", asked + 3 * HOUR)


def test_one_that_another_version_does_not_have_is_withdrawn_and_its_own_is_entered(
    engine: Engine, replica: Replica
) -> None:
    waits = replace(seed.dag(), reparse_on_run=True, deadlines=(HOURLY,))
    [run] = seed.create_runs(engine, seed.store(engine, waits), [0])
    with engine.begin() as conn:
        run_deadlines.enter(conn, [run])
    seed.store(engine, replace(waits, deadlines=(replace(HOURLY, seconds=60.0),)))
    with engine.begin() as conn:
        assert pins.pin(conn, [run], "parser:1") == 1
    judge_deadlines(replica, OVER)

    assert [(state, due) for _, state, due in rows(engine)] == [
        ("withdrawn", DUE + HOUR),
        ("missed", DUE + 60 * SECOND),
    ]


def test_two_schedulers_judge_side_by_side_and_each_deadline_once(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    started(engine)
    others: list[int] = []

    def other() -> None:
        others.append(judge_deadlines(new_replica(), OVER))

    assert judge_deadlines(new_replica(), OVER, before_commit=other) == 2
    assert others == [0]
    assert len(missed(engine)) == 2


def test_one_that_was_judged_after_it_was_seen_is_not_judged_again(
    engine: Engine, new_replica: Callable[..., Replica]
) -> None:
    started(engine)

    with just_before(
        engine, missed_deadlines.LOCK_DUE, lambda: judge_deadlines(new_replica(), OVER)
    ):
        assert judge_deadlines(new_replica(), OVER) == 0
    assert len(missed(engine)) == 2


def test_a_run_that_is_just_ending_is_judged_when_it_has(engine: Engine, replica: Replica) -> None:
    run = started(engine, replace(seed.dag(), deadlines=(HOURLY,)))

    with engine.begin() as conn:
        end = text("UPDATE dag_run SET state = 'success', ended_at = :at WHERE id = :run")
        conn.execute(end, {"at": DUE + HOUR, "run": run})
        assert judge_deadlines(replica, OVER) == 0
    judge_deadlines(replica, OVER)

    assert rows(engine) == [(None, "met", DUE + HOUR)]


DIES = """
import os, signal, sys
from datetime import datetime
from headway.db.core import engine as engines
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.configuration import read
from headway.testing.data import seed
from headway_scheduler.passes.judge_deadlines import judge_deadlines
from headway_scheduler.replica.replica import Replica

def die():
    os.kill(os.getpid(), signal.SIGKILL)

engine = engines.connect(sys.argv[1], name="test")
replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
now = datetime.fromisoformat(sys.argv[2])
judge_deadlines(replica, now, *([die] if sys.argv[3] == "before" else []))
die()
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_scheduler_that_is_killed_at_its_commit_leaves_each_deadline_recorded_once(
    engine: Engine, replica: Replica, database_url: str, when: str
) -> None:
    started(engine)
    command = [sys.executable, "-c", DIES, database_url, OVER.isoformat(), when]

    died = subprocess.run(command, check=False, timeout=60)

    assert died.returncode == -signal.SIGKILL
    assert len(missed(engine)) == (0 if when == "before" else 2)
    judge_deadlines(replica, OVER)
    assert len(missed(engine)) == 2
    assert [state for _, state, _ in rows(engine)] == ["missed", "missed"]


def test_the_commands_show_what_is_open_met_and_missed(
    engine: Engine, replica: Replica, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway.cli.input.session.database_url", lambda: database_url)
    run = started(engine, replace(BOTH, deadlines=(HOURLY, FROM_START)))
    force(engine, run, a="running", b="success")
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET ended_at = :at"), {"at": DUE})

    def say(*arguments: str) -> str:
        result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    def listed(*arguments: str) -> list[tuple[Any, ...]]:
        found = json.loads(say("deadlines", "list", *arguments, "-o", "json"))
        return [(row["task_id"], row["state"], row["due_at"]) for row in found]

    at = "2024-01-02T01:00:00Z"
    # Before any scheduler has looked: b has ended in time, the run starts its clock when it starts.
    assert sorted(listed("etl"), key=str) == [
        ("b", "met", at),
        (None, "open", at),
        (None, "open", at),
    ]
    judge_deadlines(replica, OVER)
    assert listed("etl", RUN, "--state", "met") == [("b", "met", at)]
    assert listed("--state", "missed") == [(None, "missed", at)]
    assert "1:00:00 after due" in say("runs", "show", "etl", RUN)
    shown = json.loads(say("runs", "show", "etl", RUN, "-o", "json"))
    assert len(shown[0]["deadlines"]) == 3
    assert "The run has missed its deadline, 1:00:00 after due" in say("explain", "etl", RUN, "a")
