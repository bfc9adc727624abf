"""What a task instance does that was queued: it waits for a worker, runs, stops, has ended."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from headway.actions.change import Author
from headway.actions.explain.explain import ExplainRequest, explain
from headway.actions.runs.cancel import cancel_tasks
from headway.actions.runs.mark import Marking, mark_tasks
from headway.db.core import processes
from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.db.reads.explain import queue_order
from headway.db.scheduling import tasks
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_QUEUE
from headway.domain.states import Outcome, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import run_requests, seed
from headway.testing.database.interleaving import just_before
from headway_scheduler.passes.schedule_tasks import schedule_retries
from headway_scheduler.replica.replica import Replica

RUN = "scheduled__2024-01-01T00:00:00+00:00"


def ask(engine: Engine, task_id: str = "work", now: datetime | None = None) -> Explanation:
    moment = datetime.now(UTC) if now is None else now
    with engine.begin() as conn:
        return explain(conn, ExplainRequest("etl", RUN, task_id), read(SchedulerSettings), moment)


def worker(engine: Engine, slots: int) -> processes.Identity:
    with engine.begin() as conn:
        return processes.register(conn, "worker", ("host", 7), "test", [DEFAULT_QUEUE], slots)


def test_a_task_that_a_worker_is_about_to_claim(engine: Engine) -> None:
    me = worker(engine, 2)
    seed.queued(engine, seed.dag())

    found = ask(engine, now=seed.START + timedelta(minutes=3))

    assert found.reason is Reason.CLAIMED_NEXT
    assert found.sentence == (
        "It is queued since 2024-01-01T00:00:00Z (3 min ago), and a worker with a free slot claims "
        "it when it looks next."
    )
    assert found.facts == (
        f"worker {me.id} (pid 7 on host) has 2 of 2 slots free, and was heard of 0 s ago.",
    )
    assert found.place is not None
    assert (found.place.queue, found.place.nth, found.place.of) == ("the queue default", 1, 1)
    assert len(seed.claim(engine, me)) == 1


def test_a_queued_task_without_a_worker(engine: Engine) -> None:
    seed.queued(engine, seed.dag())

    found = ask(engine, now=seed.START)

    assert found.reason is Reason.NO_WORKER
    assert found.facts == (
        (
            "Unclaimed, it goes back into the queue of its pool at 2024-01-01T00:10:00Z (in 10 "
            "min), by task_queued_timeout."
        ),
    )
    assert found.sentence == ("It is queued, and no worker that is alive serves its queue default.")
    assert found.change == "Start one: `HEADWAY_WORKER_QUEUES=default headway worker`."


def test_a_queued_task_whose_workers_drain(engine: Engine) -> None:
    me = worker(engine, 2)
    seed.queued(engine, seed.dag())
    with engine.begin() as conn:
        assert processes.drain(conn, me.id)
        assert not processes.drain(conn, me.id + 1)

    found = ask(engine, now=seed.START)

    assert found.reason is Reason.NO_WORKER
    assert f"queue default; draining, and taking no more: worker {me.id} (" in found.sentence


def test_a_queued_task_whose_workers_are_full(engine: Engine) -> None:
    me = worker(engine, 2)
    seed.queued(engine, seed.wide(4))
    first, _second = seed.claim(engine, me, limit=2)

    found = ask(engine, "t3")

    assert found.reason is Reason.WORKERS_FULL
    assert found.sentence == (
        "It is queued, and the worker of its queue default has 2 slots, of which 2 are taken, and "
        "1 attempt in the queue before it."
    )
    assert found.change == (
        "The end of 2 tasks there, or another worker: "
        "`HEADWAY_WORKER_QUEUES=default headway worker`."
    )
    assert [(holder.task_id, holder.worker) for holder in found.held_by] == [
        ("t0", "host"),
        ("t1", "host"),
    ]

    assert ask(engine, "t2").reason is Reason.WORKERS_FULL
    seed.report(engine, [first.key])
    assert ask(engine, "t2").reason is Reason.CLAIMED_NEXT
    assert ask(engine, "t3").reason is Reason.WORKERS_FULL
    worker(engine, 1)
    assert ask(engine, "t3").reason is Reason.CLAIMED_NEXT


def running(engine: Engine) -> AttemptKey:
    [key] = seed.running(engine, seed.dag())
    return key


def test_a_running_task(engine: Engine) -> None:
    running(engine)

    found = ask(engine)

    assert found.reason is Reason.RUNNING
    assert found.sentence.startswith("It is running: attempt 1, on worker 1 (pid 1 on host), since")
    assert found.change == f"Its end; `headway tasks cancel etl {RUN} work --yes` stops it."
    [lease] = found.facts
    assert lease.startswith("The worker's lease runs out, unless it renews it, at ")


def test_a_running_task_that_waits_for_a_run_of_another_dag(engine: Engine) -> None:
    key = running(engine)
    run_requests.ask(engine, key, waits=True)
    assert ask(engine).facts[0].startswith("It asks for a run of DAG target;")
    seed.create_runs(engine, seed.store(engine, seed.dag(dag_id="target")), [0])
    with engine.begin() as conn:
        conn.execute(
            text(
                "UPDATE run_request SET answer = 'created', answered_at = now(), "
                "answer_run_id = (SELECT run_id FROM dag_run WHERE dag_id = 'target')"
            )
        )

    assert ask(engine).facts[0].startswith(f"It waits for run {RUN} of DAG target, which is queued")


def test_a_running_task_whose_worker_has_gone(engine: Engine) -> None:
    running(engine)
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now()"))

    found = ask(engine, now=datetime.now(UTC) + timedelta(minutes=5))

    assert found.reason is Reason.RUNNING
    assert "on a worker that has ended" in found.sentence
    [lease] = found.facts
    assert lease.startswith("The worker's lease ran out, unrenewed, at ")
    assert lease.endswith("A scheduler is about to take it for lost.")


def test_a_task_that_is_stopping(engine: Engine) -> None:
    running(engine)
    with engine.begin() as conn:
        cancel_tasks(conn, ("etl", RUN), ["work"], None, Author("user:ann", "wrong data"))

    found = ask(engine)

    assert found.reason is Reason.STOPPING
    assert found.sentence.startswith("Attempt 1 was told to stop by user:ann (task.cancel, 20")
    assert found.sentence.endswith(
        ": wrong data), and has not yet. The task is failed when it has."
    )


def failed(engine: Engine, seconds: float = 300.0) -> None:
    following = Next(TaskState.UP_FOR_RETRY, timedelta(seconds=seconds))
    report = Report(
        key=running(engine),
        outcome=Outcome.FAILED,
        following=following,
        error="ValueError: bad\nmore of it",
    )
    with engine.begin() as conn:
        assert attempts.report(conn, [report])


def test_a_task_that_waits_for_its_retry(engine: Engine) -> None:
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    failed(engine)

    found = ask(engine)

    assert found.reason is Reason.RETRY
    assert found.sentence.startswith("Attempt 1 failed, and the task is tried again at 20")
    assert found.sentence.endswith("(in 5 min).")
    assert found.change == (
        f"Time; or `headway tasks clear etl {RUN} work --yes`, to have it run again now."
    )
    assert found.facts == (
        "Attempts so far: 1 failed, 0 lost.",
        "Attempt 1: ValueError: bad",
    )
    now = datetime.now(UTC)
    assert schedule_retries(replica, now) == 0
    assert schedule_retries(replica, now + timedelta(minutes=5)) == 1


def test_a_retry_that_nobody_is_there_to_schedule(engine: Engine) -> None:
    failed(engine)

    assert ask(engine).reason is Reason.RETRY
    found = ask(engine, now=datetime.now(UTC) + timedelta(minutes=10))
    assert found.reason is Reason.NO_SCHEDULER


def test_a_deferred_task(engine: Engine) -> None:
    running(engine)
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE task_attempt SET phase = 'ended', ended_at = now(), outcome = 'success'")
        )
        conn.execute(text("UPDATE task_instance SET state = 'deferred'"))

    assert ask(engine).reason is Reason.DEFERRED


def test_a_task_that_has_succeeded(engine: Engine) -> None:
    seed.report(engine, [running(engine)])

    found = ask(engine)

    assert found.reason is Reason.ENDED
    assert found.sentence.startswith("It has ended as success at 20")
    assert ", by attempt 1, which took " in found.sentence
    assert found.change == f"`headway tasks clear etl {RUN} work --yes` has it run again."


def test_a_task_that_has_failed(engine: Engine) -> None:
    report = Report(
        key=running(engine),
        outcome=Outcome.TIMED_OUT,
        following=Next(TaskState.FAILED),
        error="The task ran longer than its execution_timeout of 3 s, and was stopped.",
    )
    with engine.begin() as conn:
        attempts.report(conn, [report])

    found = ask(engine)

    assert found.reason is Reason.ENDED
    assert found.facts == (
        "Attempt 1: The task ran longer than its execution_timeout of 3 s, and was stopped.",
    )


def test_a_task_that_skipped_itself(engine: Engine) -> None:
    seed.report(engine, [running(engine)], Outcome.SKIPPED, Next(TaskState.SKIPPED))

    found = ask(engine)

    assert found.reason is Reason.ENDED
    assert found.sentence.startswith("It has ended as skipped")


def test_a_task_that_a_user_has_marked(engine: Engine) -> None:
    seed.scheduled(engine, seed.dag())
    with engine.begin() as conn:
        marking = Marking(["work"], TaskState.SKIPPED)
        mark_tasks(conn, "etl", RUN, marking, Author("user:ann", "no data today"))

    found = ask(engine)

    assert found.reason is Reason.ENDED
    assert found.sentence.endswith(", without having run.")
    [who] = found.facts
    assert who.startswith("The last change to the run or the task: user:ann (task.mark, 20")
    assert who.endswith(": no data today).")


def test_a_task_that_moves_while_it_is_looked_at(engine: Engine) -> None:
    """What has been seen of a scheduled task holds no more when it is queued meanwhile."""
    worker(engine, 1)
    seed.register(engine)
    spec = replace(seed.dag(), max_active_tasks=1)
    ids = seed.scheduled(engine, spec)

    def queue_it() -> None:
        with engine.begin() as conn:
            tasks.queue(conn, ids, seed.START, seed.SCHEDULER)

    with just_before(engine, queue_order.PLACES, queue_it):
        found = ask(engine)

    assert found.reason is Reason.CLAIMED_NEXT


@pytest.mark.parametrize("state", ["failed", "success"])
def test_the_error_of_an_attempt_is_its_first_line(engine: Engine, state: str) -> None:
    report = Report(
        key=running(engine),
        outcome=Outcome.FAILED,
        following=Next(TaskState(state)),
        error="\nValueError: bad\nsecond line",
    )
    with engine.begin() as conn:
        attempts.report(conn, [report])

    assert ask(engine).facts == ("Attempt 1: ValueError: bad",)
