"""Why a scheduled task is not queued: for each limit the scheduler refuses it too, and the
change that is named makes it start."""

import re
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from sqlalchemy.exc import DBAPIError

from headway.actions.dags.pause import set_paused
from headway.actions.explain.explain import ExplainRequest, explain
from headway.actions.installation.pools import delete_pool, set_pool
from headway.db.core import processes
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.dag.spec import DEFAULT_POOL, DEFAULT_QUEUE, DagSpec
from headway.domain.states import TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.replica.replica import Replica

RUN = "scheduled__2024-01-01T00:00:00+00:00"
NEXT_RUN = "scheduled__2024-01-02T00:00:00+00:00"


@pytest.fixture
def replica(engine: Engine) -> Replica:
    """A scheduler, with a worker that serves the default queue."""
    seed.register(engine, "worker")
    return Replica(engine, seed.register(engine), read(SchedulerSettings))


def ask(
    engine: Engine, task_id: str, run: str = RUN, dag_id: str = "etl", parallelism: int = 10_000
) -> Explanation:
    settings = read(SchedulerSettings, parallelism=parallelism)
    with engine.begin() as conn:
        return explain(conn, ExplainRequest(dag_id, run, task_id), settings, seed.START)


def queue(replica: Replica, pool: str = DEFAULT_POOL) -> list[int]:
    return queue_tasks(replica, pool, seed.START).task_ids


def make_pool(engine: Engine, name: str, slots: int, *, include_deferred: bool = False) -> None:
    with engine.begin() as conn:
        set_pool(conn, name, slots, "", "user:test", include_deferred=include_deferred)


def with_all(spec: DagSpec, **options: object) -> DagSpec:
    """Change every task of a DAG alike."""
    return replace(spec, tasks=tuple(replace(task, **options) for task in spec.tasks))  # type: ignore[arg-type]


def end_one(engine: Engine) -> None:
    """Have one of those that are queued run, and succeed."""
    [claimed] = seed.claim(engine, seed.register(engine, "worker"), limit=1)
    assert seed.report(engine, [claimed.key]) == {claimed.key}


def do(engine: Engine, change: str) -> None:
    """Carry out the command on pools that is named first."""
    found = re.search(r"`headway pools set (\S+) (\d+)`", change)
    assert found, change
    make_pool(engine, found[1], int(found[2]))


def id_of(engine: Engine, task_id: str, run: str = RUN) -> int:
    query = text("""
        SELECT task.id FROM task_instance AS task JOIN dag_run AS run ON run.id = task.dag_run_id
         WHERE task_id = :task_id AND run_id = :run
    """)
    with engine.connect() as conn:
        found: int = conn.execute(query, {"task_id": task_id, "run": run}).scalar_one()
        return found


def test_a_task_that_nothing_holds(engine: Engine, replica: Replica) -> None:
    [task] = seed.scheduled(engine, seed.dag())

    found = ask(engine, "work")

    assert found.reason is Reason.ADMITTED_NEXT
    assert found.sentence == "Nothing holds it: it is queued in a scheduler's next pass."
    assert found.subject is not None
    assert found.subject == ("etl", RUN, "work", -1, "scheduled")
    assert found.facts == ()
    assert queue(replica) == [task]


def test_no_scheduler_at_all(engine: Engine) -> None:
    seed.register(engine, "worker")
    seed.scheduled(engine, seed.dag())

    found = ask(engine, "work")

    assert found.reason is Reason.NO_SCHEDULER
    assert found.sentence == "No scheduler is alive."
    assert found.change == "Start one: `headway scheduler`."
    assert found.facts == ()

    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    assert ask(engine, "work").reason is Reason.ADMITTED_NEXT
    assert len(queue(replica)) == 1


def test_a_scheduler_that_has_fallen_silent(engine: Engine, replica: Replica) -> None:
    seed.scheduled(engine, seed.dag())
    quick = read(SchedulerSettings).model_copy(update={"scheduler_health_check_threshold": 1e-5})

    with engine.begin() as conn:
        found = explain(conn, ExplainRequest("etl", RUN, "work"), quick, seed.START)

    assert found.reason is Reason.NO_SCHEDULER
    assert found.sentence == (
        f"No scheduler is alive: scheduler {replica.me.id} (pid 1 on host) has been silent for 0 s."
    )


def test_a_backfills_process_queues_tasks_as_well(engine: Engine) -> None:
    seed.register(engine, "worker")
    seed.scheduled(engine, seed.dag())
    me = seed.register(engine, "backfill")

    assert ask(engine, "work").reason is Reason.ADMITTED_NEXT
    assert len(queue(Replica(engine, me, read(SchedulerSettings), own_alone=True))) == 1


def test_a_paused_dag(engine: Engine, replica: Replica) -> None:
    [task] = seed.scheduled(engine, seed.dag())
    with engine.begin() as conn:
        set_paused(conn, "etl", "user:test", paused=True)

    found = ask(engine, "work")

    assert found.reason is Reason.DAG_PAUSED
    assert found.sentence == "etl is paused, and no task of a paused DAG is queued."
    assert found.change == "`headway dags unpause etl`"
    assert queue(replica) == []

    with engine.begin() as conn:
        set_paused(conn, "etl", "user:test", paused=False)
    assert queue(replica) == [task]


def test_a_pool_that_does_not_exist(engine: Engine, replica: Replica) -> None:
    [task] = seed.scheduled(engine, with_all(seed.dag(), pool="big", pool_slots=2))

    found = ask(engine, "work")

    assert found.reason is Reason.NO_POOL
    assert found.sentence == "Its pool big does not exist."
    assert queue(replica, "big") == []

    do(engine, found.change)
    assert queue(replica, "big") == [task]


def test_a_pool_that_was_deleted_while_tasks_hold_its_slots(
    engine: Engine, replica: Replica
) -> None:
    make_pool(engine, "big", 5)
    seed.scheduled(engine, with_all(seed.wide(2), pool="big"))
    make_pool(engine, "big", 1)
    queue(replica, "big")
    with engine.begin() as conn:
        delete_pool(conn, "big", "user:test")

    assert ask(engine, "t1").reason is Reason.NO_POOL
    assert queue(replica, "big") == []


def test_a_pool_that_is_too_small(engine: Engine, replica: Replica) -> None:
    make_pool(engine, "small", 3)
    [task] = seed.scheduled(engine, with_all(seed.dag(), pool="small", pool_slots=5))

    found = ask(engine, "work")

    assert found.reason is Reason.POOL_TOO_SMALL
    assert found.sentence == "It takes 5 slots of the pool small, which has 3 in all."
    assert queue(replica, "small") == []

    do(engine, found.change)
    assert queue(replica, "small") == [task]


def test_a_pool_that_is_full(engine: Engine, replica: Replica) -> None:
    make_pool(engine, "small", 3)
    seed.scheduled(engine, with_all(seed.wide(5), pool="small"))
    queue(replica, "small")

    found = ask(engine, "t4")

    assert found.reason is Reason.POOL
    assert found.sentence == "It takes 1 slot of the pool small, and 0 of its 3 are free."
    assert [
        (holder.run_id, holder.task_id, holder.state, holder.slots) for holder in found.held_by
    ] == [
        (RUN, "t0", "queued", 1),
        (RUN, "t1", "queued", 1),
        (RUN, "t2", "queued", 1),
    ]
    assert found.place is not None
    assert (found.place.queue, found.place.nth, found.place.of) == ("the pool small", 2, 2)
    assert queue(replica, "small") == []

    assert found.change == (
        "Other tasks release 1 slot, or the pool gets more slots: `headway pools set small 4`."
    )
    do(engine, found.change)
    assert len(queue(replica, "small")) == 1  # t3, which is before it
    do(engine, ask(engine, "t4").change)
    assert queue(replica, "small") == [id_of(engine, "t4")]


def test_a_pool_with_fewer_free_slots_than_it_takes(engine: Engine, replica: Replica) -> None:
    make_pool(engine, "small", 3)
    small, big = seed.task("a"), replace(seed.task("b"), pool_slots=2)
    spec = with_all(seed.dag(small, replace(small, task_id="a2")), pool="small")
    seed.scheduled(engine, replace(spec, tasks=(*spec.tasks, replace(big, pool="small"))))
    assert len(queue(replica, "small")) == 2

    found = ask(engine, "b")

    assert found.reason is Reason.POOL
    assert found.sentence == "It takes 2 slots of the pool small, and 1 of its 3 is free."
    assert queue(replica, "small") == []

    end_one(engine)
    assert queue(replica, "small") == [id_of(engine, "b")]


def test_a_pool_whose_slots_deferred_tasks_hold(engine: Engine, replica: Replica) -> None:
    make_pool(engine, "small", 1, include_deferred=True)
    seed.running(engine, with_all(seed.dag(), pool="small"))
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE task_attempt SET phase = 'ended', ended_at = now(), outcome = 'success'")
        )
        conn.execute(text("UPDATE task_instance SET state = 'deferred'"))
    seed.scheduled(engine, with_all(seed.dag(dag_id="other"), pool="small"))

    found = ask(engine, "work", dag_id="other")

    assert found.reason is Reason.POOL
    assert [(holder.dag_id, holder.state) for holder in found.held_by] == [("etl", "deferred")]
    assert queue(replica, "small") == []


def test_max_active_tasks(engine: Engine, replica: Replica) -> None:
    spec = replace(seed.wide(3), max_active_tasks=2)
    seed.scheduled(engine, spec)
    queue(replica)

    found = ask(engine, "t2")

    assert found.reason is Reason.MAX_ACTIVE_TASKS
    assert found.sentence == "etl has 2 active tasks, and max_active_tasks allows 2."
    assert found.change == "The end of one of these, or a higher max_active_tasks in etl.py."
    assert [holder.task_id for holder in found.held_by] == ["t0", "t1"]
    assert queue(replica) == []

    seed.store(engine, replace(spec, max_active_tasks=3))
    assert queue(replica) == [id_of(engine, "t2")]


def test_max_active_tasks_that_was_lowered(engine: Engine, replica: Replica) -> None:
    spec = replace(seed.wide(4), max_active_tasks=3)
    seed.scheduled(engine, spec)
    queue(replica)
    seed.store(engine, replace(spec, max_active_tasks=2))

    assert ask(engine, "t3").change.startswith("The end of 2 of these, or ")
    end_one(engine)
    assert queue(replica) == []
    end_one(engine)
    assert queue(replica) == [id_of(engine, "t3")]


def test_max_active_tasks_per_dagrun(engine: Engine, replica: Replica) -> None:
    spec = replace(seed.wide(2), max_active_tasks=10, max_active_tasks_per_dagrun=1)
    seed.scheduled(engine, spec)
    seed.scheduled(engine, spec, day=1)
    queue(replica)
    [waits] = [name for name in ("t0", "t1") if ask(engine, name).subject[-1] == "scheduled"]  # type: ignore[index]

    found = ask(engine, waits)

    assert found.reason is Reason.MAX_ACTIVE_TASKS_PER_DAGRUN
    assert found.sentence == "Its run has 1 active task, and max_active_tasks_per_dagrun allows 1."
    assert "in etl.py, for runs that are created from then on" in found.change
    assert [holder.run_id for holder in found.held_by] == [RUN]
    assert queue(replica) == []

    with engine.begin() as conn:  # of the two runs that hold a place each, this one's
        conn.execute(
            text(
                "UPDATE task_attempt SET rank = -1 WHERE task_instance_id IN"
                " (SELECT id FROM task_instance WHERE dag_run_id ="
                " (SELECT min(id) FROM dag_run))"
            )
        )
    end_one(engine)
    assert queue(replica) == [id_of(engine, waits)]


def test_max_active_tis_per_dag(engine: Engine, replica: Replica) -> None:
    spec = with_all(seed.dag(), max_active_tis_per_dag=1)
    seed.scheduled(engine, spec)
    seed.scheduled(engine, spec, day=1)
    queue(replica)

    found = ask(engine, "work", NEXT_RUN)

    assert found.reason is Reason.MAX_ACTIVE_TIS_PER_DAG
    assert found.sentence == (
        "work has, in all runs of etl, 1 active instance, and max_active_tis_per_dag allows 1."
    )
    assert [holder.run_id for holder in found.held_by] == [RUN]
    assert queue(replica) == []

    end_one(engine)
    assert queue(replica) == [id_of(engine, "work", NEXT_RUN)]


def test_max_active_tis_per_dagrun(engine: Engine, replica: Replica) -> None:
    """Two instances of a mapped task; another run's instances count for nothing."""
    spec = with_all(seed.dag(), max_active_tis_per_dagrun=1)
    for day in (0, 1):
        seed.scheduled(engine, spec, day)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET map_index = 0"))
        conn.execute(
            text("""
            INSERT INTO task_instance (dag_run_id, dag_id, task_id, map_index, state, pool,
                                       pool_slots, queue, priority, rank, limited)
            SELECT dag_run_id, dag_id, task_id, 1, state, pool, pool_slots, queue, priority,
                   rank, limited
              FROM task_instance
        """)
        )
    queue(replica)

    found = ask(engine, "work")

    assert found.reason is Reason.MAX_ACTIVE_TIS_PER_DAGRUN
    assert found.sentence == (
        "work has in its run 1 active instance, and max_active_tis_per_dagrun allows 1."
    )
    assert [(holder.run_id, holder.name) for holder in found.held_by] == [(RUN, "work[0]")]
    assert found.facts[0] == (
        "work has 2 instances (1 queued, 1 scheduled); this is about work[1]."
    )
    assert queue(replica) == []

    end_one(engine)
    assert len(queue(replica)) == 1
    assert ask(engine, "work").subject == ("etl", RUN, "work", 1, TaskState.QUEUED)


def test_a_queue_that_no_worker_serves(engine: Engine, replica: Replica) -> None:
    [task] = seed.scheduled(engine, with_all(seed.dag(), queue="big"))

    found = ask(engine, "work")

    assert found.reason is Reason.NO_WORKER
    assert found.sentence == "No worker that is alive serves its queue big."
    assert found.change == "Start one: `HEADWAY_WORKER_QUEUES=big headway worker`."
    assert queue(replica) == []

    with engine.begin() as conn:
        processes.register(conn, "worker", ("host", 2), "test", ["big"], 1)
    assert queue(replica) == [task]


def test_a_queue_whose_workers_have_enough(engine: Engine) -> None:
    """A worker of one slot is given three."""
    with engine.begin() as conn:
        processes.register(conn, "worker", ("host", 2), "test", [DEFAULT_QUEUE], 1)
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    seed.scheduled(engine, seed.wide(4))
    assert len(queue(replica)) == 3

    found = ask(engine, "t3")

    assert found.reason is Reason.QUEUE
    assert found.sentence == (
        "The queue default has 3 tasks queued or running, and its workers are given 3 at most, "
        "3 times as many as they have slots."
    )
    assert [holder.task_id for holder in found.held_by] == ["t0", "t1", "t2"]
    assert queue(replica) == []

    seed.register(engine, "worker")
    assert queue(replica) == [id_of(engine, "t3")]


def test_the_parallelism_of_every_scheduler(engine: Engine) -> None:
    seed.register(engine, "worker")
    settings = read(SchedulerSettings, parallelism=1)
    one, two = (Replica(engine, seed.register(engine), settings) for _ in range(2))
    seed.scheduled(engine, seed.wide(3))
    assert len(queue(one)) == len(queue(two)) == 1

    found = ask(engine, "t2", parallelism=1)

    assert found.reason is Reason.PARALLELISM
    first, second = one.me.id, two.me.id
    assert found.sentence == (
        "Every live scheduler has as many tasks queued or running as its parallelism allows: "
        f"scheduler {first} (pid 1 on host) 1 of 1 and scheduler {second} (pid 1 on host) 1 of 1."
    )
    assert [holder.task_id for holder in found.held_by] == ["t0", "t1"]
    assert queue(one) == queue(two) == []

    third = Replica(engine, seed.register(engine), settings)
    assert ask(engine, "t2", parallelism=1).reason is Reason.ADMITTED_NEXT
    assert queue(third) == [id_of(engine, "t2")]


def test_one_scheduler_with_room_is_enough(engine: Engine) -> None:
    seed.register(engine, "worker")
    settings = read(SchedulerSettings, parallelism=1)
    full, idle = (Replica(engine, seed.register(engine), settings) for _ in range(2))
    seed.scheduled(engine, seed.wide(2))
    assert len(queue(full)) == 1

    assert ask(engine, "t1", parallelism=1).reason is Reason.ADMITTED_NEXT
    assert queue(idle) == [id_of(engine, "t1")]


def test_others_before_it_in_the_line_take_what_is_left(engine: Engine, replica: Replica) -> None:
    make_pool(engine, "small", 2)
    seed.scheduled(engine, with_all(seed.wide(3), pool="small"))

    found = ask(engine, "t2")

    assert found.reason is Reason.BEHIND
    assert found.sentence == (
        "It is the 3rd of 3 in the queue order of the pool small, and what is left of the pool "
        "small, 2 slots, goes to 2 tasks before it."
    )
    assert found.change == "Its turn, or more of the pool small."
    assert [(holder.task_id, holder.state) for holder in found.held_by] == [
        ("t0", "scheduled"),
        ("t1", "scheduled"),
    ]
    assert ask(engine, "t1").reason is Reason.ADMITTED_NEXT

    make_pool(engine, "small", 3)
    assert id_of(engine, "t2") in queue(replica, "small")


def test_those_before_it_that_cannot_start_are_not_in_its_way(
    engine: Engine, replica: Replica
) -> None:
    """Those of a paused DAG, of one that is full, of a task that is, and those too big."""
    make_pool(engine, "small", 1)
    for dag_id in ("full", "narrow"):
        spec = with_all(seed.dag(dag_id=dag_id), max_active_tis_per_dag=1)
        seed.queued(engine, replace(spec, max_active_tasks=1 if dag_id == "full" else 9))
        one_more = with_all(spec, pool="small")
        seed.scheduled(engine, replace(one_more, max_active_tasks=1 if dag_id == "full" else 9), 1)
    seed.scheduled(engine, with_all(seed.wide(3, "paused"), pool="small"))
    seed.scheduled(engine, with_all(seed.wide(3, "big"), pool="small", pool_slots=2))
    with engine.begin() as conn:
        set_paused(conn, "paused", "user:test", paused=True)
    [task] = seed.scheduled(engine, with_all(seed.dag(), pool="small"))

    found = ask(engine, "work")

    assert found.reason is Reason.ADMITTED_NEXT
    assert found.place is not None
    assert (found.place.nth, found.place.of) == (6, 6)
    assert queue(replica, "small") == [task]


def test_what_else_holds_it_is_said_below(engine: Engine, replica: Replica) -> None:
    """The one reason is the first; the others would hold it when that has gone."""
    make_pool(engine, "small", 1)
    spec = replace(with_all(seed.wide(2), pool="small"), max_active_tasks=1)
    seed.scheduled(engine, spec)
    queue(replica, "small")

    found = ask(engine, "t1")

    assert found.reason is Reason.POOL
    assert found.facts == ("Besides: etl has 1 active task, and max_active_tasks allows 1.",)


def test_an_explanation_may_not_write(engine: Engine, replica: Replica) -> None:
    seed.scheduled(engine, seed.dag())
    with engine.connect() as conn:
        explain(conn, ExplainRequest("etl", RUN, "work"), replica.settings, seed.START)

        with pytest.raises(DBAPIError, match="read-only transaction"):
            conn.execute(text("UPDATE task_instance SET state = 'none'"))
