"""Why a run has not started, or is not there: the scheduler holds it too, until that changes."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from headway.actions.dags.pause import set_paused
from headway.actions.explain.explain import ExplainRequest, explain
from headway.db.core import processes
from headway.db.parsing import dag_registration, pins
from headway.db.parsing.files import FileKey
from headway.db.scheduling import scope
from headway.db.users import backfill_plans
from headway.db.users.backfill_plans import NewBackfill
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.errors import NotFoundError
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

LATER = seed.START + 30 * seed.DAY


@pytest.fixture
def replica(engine: Engine) -> Replica:
    return Replica(engine, seed.register(engine), read(SchedulerSettings))


def run_id(day: int) -> str:
    return f"scheduled__{(seed.START + day * seed.DAY).isoformat()}"


def ask(engine: Engine, run: str, now: datetime = LATER, task_id: str = "work") -> Explanation:
    with engine.begin() as conn:
        return explain(conn, ExplainRequest("etl", run, task_id), read(SchedulerSettings), now)


def test_a_run_that_nothing_holds(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])

    found = ask(engine, run_id(0))

    assert found.reason is Reason.RUN_STARTS
    assert found.sentence == (
        "The run is queued, and nothing holds it: it starts in the next pass of a scheduler."
    )
    assert found.subject == ("etl", run_id(0), "work", -1, None)
    assert start_runs(replica, LATER) == 1


def test_a_run_without_a_scheduler(engine: Engine) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    seed.register(engine, "backfill")  # which has reserved none of it

    found = ask(engine, run_id(0))

    assert found.reason is Reason.NO_SCHEDULER


def test_a_run_of_a_paused_dag(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag(), paused=True), [0])

    found = ask(engine, run_id(0))

    assert found.reason is Reason.DAG_PAUSED
    assert found.sentence == "etl is paused, and a paused DAG starts no runs."
    assert found.change == "`headway dags unpause etl`"
    assert start_runs(replica, LATER) == 0

    with engine.begin() as conn:
        set_paused(conn, "etl", "user:test", paused=False)
    assert start_runs(replica, LATER) == 1


def test_a_run_of_a_dag_that_no_file_defines(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    with engine.begin() as conn:
        assert dag_registration.deactivate_missing(conn, {FileKey("main", "etl.py"): []}) == ["etl"]

    found = ask(engine, run_id(0))

    assert found.reason is Reason.DAG_GONE
    assert found.sentence == (
        "No file defines etl any more (it was in etl.py), and such a DAG starts no runs."
    )
    assert start_runs(replica, LATER) == 0

    seed.store(engine, seed.dag())
    assert start_runs(replica, LATER) == 1


def test_a_run_whose_date_is_to_come(engine: Engine, replica: Replica) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])

    found = ask(engine, run_id(0), now=seed.START)

    assert found.reason is Reason.RUN_AFTER
    assert found.sentence == "The run waits for its date, 2024-01-02T00:00:00Z (in 24 h)."
    assert start_runs(replica, seed.START) == 0
    assert start_runs(replica, seed.START + seed.DAY) == 1


def test_max_active_runs(engine: Engine, replica: Replica) -> None:
    spec = replace(seed.dag(), max_active_runs=2)
    seed.create_runs(engine, seed.store(engine, spec), [0, 1, 2, 3])
    assert start_runs(replica, LATER) == 2

    found = ask(engine, run_id(3))

    assert found.reason is Reason.MAX_ACTIVE_RUNS
    assert found.sentence == "etl has 2 active runs, and its max_active_runs allows 2."
    assert [(holder.run_id, holder.task_id, holder.state) for holder in found.held_by] == [
        (run_id(0), None, "running"),
        (run_id(1), None, "running"),
    ]
    assert found.change == "The end of 2 active runs, or a higher max_active_runs in etl.py."
    assert found.place is not None
    assert (found.place.nth, found.place.of) == (2, 2)
    assert ask(engine, run_id(2)).change == (
        "The end of one of these runs, or a higher max_active_runs in etl.py."
    )
    assert start_runs(replica, LATER) == 0

    seed.store(engine, replace(spec, max_active_runs=4))
    assert start_runs(replica, LATER) == 2


def test_runs_before_it_take_the_room_that_there_is(engine: Engine, replica: Replica) -> None:
    spec = replace(seed.dag(), max_active_runs=2)
    seed.create_runs(engine, seed.store(engine, spec), [0, 1, 2])

    found = ask(engine, run_id(2))

    assert found.reason is Reason.MAX_ACTIVE_RUNS
    assert found.sentence == (
        "etl has 0 active runs, and its max_active_runs allows 2: there is room for 2, and the "
        "run is the 3rd of those that wait."
    )
    assert start_runs(replica, LATER) == 2
    assert ask(engine, run_id(2)).reason is Reason.MAX_ACTIVE_RUNS


def test_the_runs_of_a_backfill(engine: Engine, replica: Replica) -> None:
    """The DAG's own runs have a run queue of their own, and are in no backfill's way."""
    version = seed.store(engine, replace(seed.dag(), max_active_runs=1))
    seed.create_runs(engine, version, [10])
    with engine.begin() as conn:
        backfill = backfill_plans.create(
            conn, NewBackfill("etl", seed.START, seed.START + seed.DAY, 1)
        )
    seed.create_runs(engine, version, [0, 1], backfill)
    name = f"backfill__{(seed.START + seed.DAY).isoformat()}"
    assert start_runs(replica, LATER) == 2

    found = ask(engine, name)

    assert found.reason is Reason.BACKFILL_FULL
    assert found.sentence == (
        f"Backfill {backfill} has 1 active run, and its max_active_runs allows 1."
    )
    assert found.change == "The end of one of these runs."
    assert [holder.run_id for holder in found.held_by] == [f"backfill__{seed.START.isoformat()}"]
    assert start_runs(replica, LATER) == 0

    with engine.begin() as conn:
        conn.execute(text("UPDATE backfill SET max_active_runs = 2, paused = true"))
    assert start_runs(replica, LATER) == 0
    found = ask(engine, name)
    assert found.reason is Reason.BACKFILL_PAUSED
    assert found.change == f"`headway backfill resume {backfill}`"

    with engine.begin() as conn:
        conn.execute(text("UPDATE backfill SET paused = false"))
    assert start_runs(replica, LATER) == 1


def test_a_run_whose_dag_file_is_to_be_parsed(engine: Engine, replica: Replica) -> None:
    spec = replace(seed.dag(), max_active_runs=1, reparse_on_run=True)
    ids = seed.create_runs(engine, seed.store(engine, spec), [0, 1])

    found = ask(engine, run_id(0))
    assert found.reason is Reason.AWAITS_PARSE
    assert found.sentence == (
        "The run waits for etl.py to be parsed, as its DAG has reparse_on_run (for which it is "
        "asked when the run is to start; 0 parsers alive)."
    )

    assert start_runs(replica, LATER) == 0
    found = ask(engine, run_id(0), LATER + timedelta(seconds=12))
    assert found.reason is Reason.AWAITS_PARSE
    assert found.sentence == (
        "The run waits for etl.py to be parsed, as its DAG has reparse_on_run (asked for 12 s ago; "
        "0 parsers alive)."
    )
    assert found.change == "Start one: `headway parser`."
    assert found.facts == ()

    seed.register(engine, "parser")
    found = ask(engine, run_id(0))
    assert found.sentence.endswith("1 parser alive).")
    assert found.change == "The end of that parse, whether it succeeds or fails."

    found = ask(engine, run_id(1))
    assert found.reason is Reason.MAX_ACTIVE_RUNS
    assert found.facts[0].startswith("Besides: The run waits for etl.py to be parsed")

    with engine.begin() as conn:
        assert pins.pin(conn, ids[:1], "parser:1") == 1
    assert ask(engine, run_id(0)).reason is Reason.RUN_STARTS
    assert start_runs(replica, LATER) == 1


def reserve(engine: Engine, ids: list[int]) -> processes.Identity:
    job = seed.register(engine, "backfill")
    with engine.begin() as conn:
        assert scope.lock(conn, ids, job.id) == ids
    return job


def test_a_run_that_another_job_has_reserved(engine: Engine, replica: Replica) -> None:
    job = reserve(engine, seed.create_runs(engine, seed.store(engine, seed.dag()), [0]))

    found = ask(engine, run_id(0))

    assert found.reason is Reason.RUN_RESERVED
    assert found.sentence == (
        f"The run is reserved for the backfill {job.id} (pid 1 on host), which alone schedules "
        "it, and does so in its next pass."
    )
    assert start_runs(replica, LATER) == 0

    with engine.begin() as conn:
        processes.leave(conn, job)
    found = ask(engine, run_id(0))
    assert found.reason is Reason.RUN_RESERVED
    assert found.sentence == f"The run is reserved for process {job.id}, which has ended."
    assert start_runs(replica, LATER) == 0

    adopt(replica)
    assert ask(engine, run_id(0)).reason is Reason.RUN_STARTS
    assert start_runs(replica, LATER) == 1


def test_a_reserved_run_needs_no_scheduler_but_its_job(engine: Engine) -> None:
    job = reserve(engine, seed.create_runs(engine, seed.store(engine, seed.dag()), [0]))

    found = ask(engine, run_id(0))

    assert found.reason is Reason.RUN_RESERVED
    assert found.facts == ()
    assert start_runs(Replica(engine, job, read(SchedulerSettings), own_alone=True), LATER) == 1


def test_a_limit_counts_for_a_reserved_run_too(engine: Engine, replica: Replica) -> None:
    ids = seed.create_runs(engine, seed.store(engine, replace(seed.dag(), max_active_runs=1)), [0])
    assert start_runs(replica, LATER) == len(ids)
    version = seed.store(engine, replace(seed.dag(), max_active_runs=1))
    reserve(engine, seed.create_runs(engine, version, [1]))

    assert ask(engine, run_id(1)).reason is Reason.MAX_ACTIVE_RUNS


def test_a_run_that_is_not_due(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag())
    now = seed.START + seed.DAY * 1.5
    create_runs(replica, now)

    found = ask(engine, run_id(1), now)

    assert found.reason is Reason.RUN_NOT_CREATED
    assert found.sentence == (
        "There is no such run yet: it is due at 2024-01-03T00:00:00Z (in 12 h)."
    )
    create_runs(replica, now + timedelta(hours=11))
    assert ask(engine, run_id(1), now).reason is Reason.RUN_NOT_CREATED

    assert create_runs(replica, now + timedelta(hours=12)) == 1
    assert ask(engine, run_id(1), now + timedelta(hours=12)).reason is Reason.RUN_STARTS


def test_a_run_before_which_others_come(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag())
    create_runs(replica, seed.START)

    found = ask(engine, run_id(5), seed.START)

    assert found.reason is Reason.RUN_NOT_CREATED
    assert found.sentence == (
        "There is no such run yet: the next of etl is that about the interval from "
        "2024-01-01T00:00:00Z on, due at 2024-01-02T00:00:00Z (in 24 h)."
    )


def test_a_run_far_in_the_future(engine: Engine, replica: Replica) -> None:
    """That there is no room for the run that is due now is not what keeps it away."""
    seed.store(engine, replace(seed.dag(), max_active_runs=1))
    create_runs(replica, LATER)

    assert ask(engine, run_id(1)).reason is Reason.MAX_ACTIVE_RUNS
    assert ask(engine, run_id(5)).reason is Reason.MAX_ACTIVE_RUNS
    found = ask(engine, run_id(500))
    assert found.reason is Reason.RUN_NOT_CREATED
    assert found.facts == (
        (
            "Besides: There is no such run yet: etl has 1 unfinished run of its schedule, and its "
            "max_active_runs allows 1."
        ),
    )


def test_a_run_that_is_to_be_created(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag())
    create_runs(replica, seed.START)

    found = ask(engine, run_id(0))

    assert found.reason is Reason.RUN_NOT_CREATED
    assert found.sentence == (
        "There is no such run yet; it is created in a scheduler's next passes."
    )
    assert create_runs(replica, LATER) == 1
    assert ask(engine, run_id(0)).reason is Reason.RUN_STARTS


def test_a_run_that_unfinished_ones_keep_from_being_created(
    engine: Engine, replica: Replica
) -> None:
    spec = replace(seed.dag(), max_active_runs=2)
    seed.store(engine, spec)
    create_runs(replica, LATER)

    found = ask(engine, run_id(2))

    assert found.reason is Reason.MAX_ACTIVE_RUNS
    assert found.sentence == (
        "There is no such run yet: etl has 2 unfinished runs of its schedule, and its "
        "max_active_runs allows 2."
    )
    assert [holder.run_id for holder in found.held_by] == [run_id(0), run_id(1)]
    assert create_runs(replica, LATER) == 0

    seed.store(engine, replace(spec, max_active_runs=3))
    create_runs(replica, LATER)
    assert ask(engine, run_id(2)).reason is Reason.RUN_STARTS


def test_a_run_that_a_paused_dag_does_not_get(engine: Engine, replica: Replica) -> None:
    seed.store(engine, seed.dag(), paused=True)

    found = ask(engine, run_id(0))

    assert found.reason is Reason.DAG_PAUSED
    assert found.sentence == "etl is paused, and a paused DAG gets no runs."
    assert create_runs(replica, LATER) == 0


def test_a_run_that_nobody_is_there_to_create(engine: Engine) -> None:
    seed.store(engine, seed.dag())

    assert ask(engine, run_id(0)).reason is Reason.NO_SCHEDULER


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (ExplainRequest("elt", "x", "work"), "There is no DAG 'elt'. Did you mean etl?"),
        (ExplainRequest("etl", "manual__1", "work"), "DAG etl has no run 'manual__1'."),
        (ExplainRequest("etl", "scheduled__2024-01-02", "work"), "DAG etl has no run"),
        (
            ExplainRequest("etl", "scheduled__1999-01-01T00:00:00+00:00", "work"),
            "DAG etl has no run",
        ),
        (
            ExplainRequest("etl", "scheduled__2024-01-01T00:00:00+00:00", "wrok"),
            "Did you mean work?",
        ),
        (
            ExplainRequest("etl", "scheduled__2024-01-01T00:00:00+00:00", "work", 3),
            "it is not mapped",
        ),
    ],
)
def test_what_there_is_not(
    engine: Engine, replica: Replica, wanted: ExplainRequest, message: str
) -> None:
    seed.store(engine, replace(seed.dag(), max_active_runs=1))
    create_runs(replica, LATER)
    start_runs(replica, LATER)

    with engine.begin() as conn, pytest.raises(NotFoundError) as raised:
        explain(conn, wanted, replica.settings, LATER)

    said = " ".join(
        [str(raised.value), *map(str, raised.value.hint.parts if raised.value.hint else ())]
    )
    assert message in said


def test_an_interval_that_was_left_out_of_a_dag_without_a_file(
    engine: Engine, replica: Replica
) -> None:
    seed.store(engine, replace(seed.dag(), catchup=False))
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE dag SET scheduled_since = :it"), {"it": seed.START + 4 * seed.DAY}
        )
    while create_runs(replica, seed.START + 4 * seed.DAY):
        pass
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET active = false"))

    found = ask(engine, run_id(2))

    assert found.reason is Reason.INTERVAL_SKIPPED
    assert found.change == "No file defines etl any more: put etl.py back, and ask again."
