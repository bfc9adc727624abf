"""What is said of a task instance that was queued once: every kind of answer, word by word."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from headway.decide.explain.attempt import AttemptSnapshot, explain_attempt
from headway.decide.explain.explanation import QueuePlace, Reason
from headway.decide.explain.snapshot import (
    AskedRunRow,
    AttemptRow,
    EventRow,
    ProcessRow,
    RunRow,
    TaskRow,
)
from headway.domain.states import Outcome, Phase, RunState, TaskState
from headway.testing.data.seed import START

NOW = START + timedelta(hours=1)
SECOND = timedelta(seconds=1)
RUN = RunRow(
    id=1,
    dag_id="d",
    run_id="r",
    state=RunState.RUNNING,
    run_after=START,
    version_id=1,
    version=1,
    backfill_id=None,
    lock_id=None,
    end_as=None,
)
TASK = TaskRow(
    id=1,
    task_id="t",
    map_index=-1,
    state=TaskState.RUNNING,
    attempt=2,
    failures=1,
    losses=3,
    pool="p",
    pool_slots=1,
    queue="q",
    priority=1,
    rank=0.0,
    retry_at=NOW + 30 * SECOND,
    started_at=START,
    ended_at=NOW - SECOND,
)
ATTEMPT = AttemptRow(
    attempt=2,
    phase=Phase.RUNNING,
    outcome=None,
    error=None,
    queued_at=NOW - 20 * SECOND,
    started_at=NOW - 10 * SECOND,
    ended_at=None,
    process_id=7,
    lease_until=None,
    stop_to=None,
)
WORKER = ProcessRow(
    id=7, kind="worker", hostname="h", pid=9, slots=4, busy=1, silent=2.0, alive=True
)
EVENT = EventRow(at=NOW - SECOND, actor="user:ann", action="task.mark", reason="late", problem=None)


def told(state: str, attempt: AttemptRow | None = ATTEMPT, **others: Any) -> tuple[Any, ...]:
    """Return the reason, what is said, what changes it, and the facts."""
    task = replace(TASK, state=TaskState(state))
    found = explain_attempt(AttemptSnapshot(run=RUN, task=task, attempt=attempt, now=NOW, **others))
    return found.reason, found.sentence, found.change, found.facts


def span(seconds: int) -> str:
    """Return an instant as it is written, with how long it is from now."""
    moment: datetime = NOW + seconds * SECOND
    ago = f"{-seconds} s ago" if seconds <= 0 else f"in {seconds} s"
    return f"{moment:%FT%TZ} ({ago})"


def test_a_task_that_runs_on_a_worker() -> None:
    lease = replace(ATTEMPT, lease_until=NOW + 5 * SECOND)

    assert told("running", lease, worker=WORKER) == (
        Reason.RUNNING,
        f"It is running: attempt 2, on worker 7 (pid 9 on h), since {span(-10)}.",
        "Its end; `headway tasks cancel d r t --yes` stops it.",
        (f"The worker's lease runs out, unless it renews it, at {span(5)}.",),
    )


@pytest.mark.parametrize(
    ("worker", "fact"),
    [
        (replace(WORKER, alive=False, silent=40.0), "That worker has been silent for 40 s."),
        (
            replace(WORKER, draining=True),
            "That worker drains: it finishes what it has, takes no more, and ends.",
        ),
        (WORKER, None),
    ],
)
def test_how_its_worker_stands(worker: ProcessRow, fact: str | None) -> None:
    assert told("running", worker=worker)[3] == (() if fact is None else (fact,))


ASKED = AskedRunRow(dag_id="o", waits=True, answered=True, run_id="x", state=RunState.QUEUED)


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        (ASKED, "It waits for run x of DAG o, which is queued; `headway explain o x` says more."),
        (
            replace(ASKED, state=None),
            "It waits for run x of DAG o, which was deleted; `headway explain o x` says more.",
        ),
        (
            replace(ASKED, answered=False, run_id=None, state=None),
            "It asks for a run of DAG o; no scheduler has answered yet.",
        ),
        (replace(ASKED, waits=False), None),
        (replace(ASKED, run_id=None, state=None), None),
    ],
)
def test_what_a_task_waits_for_that_has_asked_for_a_run(
    asked: AskedRunRow, fact: str | None
) -> None:
    assert told("running", asked_run=asked)[3] == (() if fact is None else (fact,))


def test_a_task_whose_worker_is_gone() -> None:
    """It began when it was queued, as far as is known; at the end of its lease that still holds."""
    lost = replace(ATTEMPT, started_at=None, lease_until=NOW - SECOND)
    assert told("running", lost) == (
        Reason.RUNNING,
        f"It is running: attempt 2, on a worker that has ended, since {span(-20)}.",
        "Its end; `headway tasks cancel d r t --yes` stops it.",
        (
            (
                f"The worker's lease ran out, unrenewed, at {span(-1)}. A scheduler is about "
                "to take it for lost."
            ),
        ),
    )
    (fact,) = told("running", replace(lost, lease_until=NOW))[3]
    assert fact.startswith("The worker's lease runs out, unless it renews it,")


@pytest.mark.parametrize(
    ("stop_to", "becomes"),
    [(TaskState.NONE, "decided anew"), (TaskState.FAILED, "failed")],
)
def test_a_task_that_was_told_to_stop(stop_to: TaskState, becomes: str) -> None:
    attempt = replace(ATTEMPT, phase=Phase.STOPPING, stop_to=stop_to)
    killed = "which is killed when it does not end by itself."

    assert told("running", attempt, worker=WORKER, event=EVENT)[:3] == (
        Reason.STOPPING,
        (
            f"Attempt 2 was told to stop by user:ann (task.mark, {span(-1)}: late), and has not "
            f"yet. The task is {becomes} when it has."
        ),
        f"The end of its process on worker 7 (pid 9 on h), {killed}",
    )
    assert told("restarting", attempt)[1:3] == (
        f"Attempt 2 was told to stop, and has not yet. The task is {becomes} when it has.",
        f"The end of its process on a worker that has ended, {killed}",
    )


def test_a_task_that_is_tried_again() -> None:
    failed = replace(ATTEMPT, outcome=Outcome.FAILED, error="\n  Boom: no\n  at line 3")
    facts = ("Attempts so far: 1 failed, 3 lost.", "Attempt 2: Boom: no")

    assert told("up_for_retry", failed) == (
        Reason.RETRY,
        f"Attempt 2 failed, and the task is tried again at {span(30)}.",
        "Time; or `headway tasks clear d r t --yes`, to have it run again now.",
        facts,
    )
    lost = replace(failed, outcome=Outcome.LOST, error=None)
    assert told("up_for_retry", lost)[1].startswith("Attempt 2 was lost with its worker, and")
    assert told("up_for_retry", None)[3] == facts[:1]


@pytest.mark.parametrize(("seconds", "reason"), [(1, Reason.RETRY), (0, Reason.NO_SCHEDULER)])
def test_a_retry_that_is_due_needs_a_scheduler(seconds: int, reason: Reason) -> None:
    task = replace(TASK, state=TaskState.UP_FOR_RETRY, retry_at=NOW + seconds * SECOND)
    snapshot = AttemptSnapshot(run=RUN, task=task, attempt=ATTEMPT, now=NOW)
    scheduler = replace(WORKER, kind="scheduler")

    assert explain_attempt(snapshot).reason is reason
    assert explain_attempt(replace(snapshot, schedulers=[scheduler])).reason is Reason.RETRY


def test_a_task_that_has_deferred_itself() -> None:
    assert told("deferred") == (
        Reason.DEFERRED,
        "Attempt 2 has deferred itself, and waits for what it asked for.",
        "That event; `headway tasks clear d r t --yes` has it run again now.",
        (),
    )


def test_a_task_that_has_ended() -> None:
    ended = replace(ATTEMPT, phase=Phase.ENDED, ended_at=NOW - 2 * SECOND, error="Boom\nand so on")
    change = "`headway tasks clear d r t --yes` has it run again."
    last = f"The last change to the run or the task: user:ann (task.mark, {span(-1)}: late)."

    assert told("failed", ended, event=EVENT) == (
        Reason.ENDED,
        f"It has ended as failed at {span(-1)}, by attempt 2, which took 8 s.",
        change,
        ("Attempt 2: Boom", last),
    )
    assert told("failed", replace(ended, started_at=None, error=None))[1:] == (
        f"It has ended as failed at {span(-1)}, by attempt 2.",
        change,
        (),
    )
    for attempt in (None, ATTEMPT):
        without = f"It has ended as skipped at {span(-1)}, without having run."
        assert told("skipped", attempt)[1] == without


@pytest.mark.parametrize(
    ("reason", "problem", "said"),
    [(None, "too late", ": too late"), ("late", "too late", ": late"), (None, None, "")],
)
def test_an_entry_of_the_journal_is_told_with_its_reason(
    reason: str | None, problem: str | None, said: str
) -> None:
    event = replace(EVENT, reason=reason, problem=problem)
    (fact,) = told("success", None, event=event)[3]
    assert fact.endswith(f"user:ann (task.mark, {span(-1)}{said}).")


def test_a_queued_task_that_a_worker_claims_next() -> None:
    workers = [WORKER, replace(WORKER, id=8, draining=True)]

    assert told("queued", workers=workers, place=QueuePlace("the queue q", 3, 3)) == (
        Reason.CLAIMED_NEXT,
        (
            f"It is queued since {span(-20)}, and a worker with a free slot claims it when it "
            "looks next."
        ),
        "Nothing is to be done.",
        ("worker 7 (pid 9 on h) has 3 of 4 slots free, and was heard of 2 s ago.",),
    )
    assert told("queued", None, workers=workers)[1].startswith("It is queued, and a worker with")


def test_a_queued_task_that_nobody_serves() -> None:
    silent = replace(WORKER, id=8, alive=False, silent=50.0)
    draining = replace(WORKER, draining=True)
    start = "Start one: `HEADWAY_WORKER_QUEUES=q headway worker`."

    reason, sentence, change, facts = told(
        "queued", workers=[silent, draining], revoked_at=NOW + 9 * SECOND
    )

    assert (reason, change) == (Reason.NO_WORKER, start)
    assert sentence == (
        "It is queued, and no worker that is alive serves its queue q; silent: worker 8 (pid 9 on "
        "h) for 50 s; draining, and taking no more: worker 7 (pid 9 on h)."
    )
    back = (
        f"Unclaimed, it goes back into the queue of its pool at {span(9)}, by task_queued_timeout."
    )
    assert facts == (back,)
    assert told("queued")[1:] == (
        "It is queued, and no worker that is alive serves its queue q.",
        start,
        (),
    )


@pytest.mark.parametrize(
    ("busy", "nth", "full"),
    [(4, 1, True), (3, 1, False), (3, 2, True), (2, 2, False), (0, 4, False), (0, 5, True)],
)
def test_a_queued_task_for_which_workers_have_no_slot(busy: int, nth: int, full: bool) -> None:
    place = QueuePlace("the queue q", nth, 9)
    found = told("queued", workers=[replace(WORKER, busy=busy)], place=place)
    assert (found[0] is Reason.WORKERS_FULL) is full


def test_how_full_workers_are_told() -> None:
    start = "or another worker: `HEADWAY_WORKER_QUEUES=q headway worker`."
    one = told("queued", workers=[replace(WORKER, busy=4)])
    two = told(
        "queued",
        workers=[replace(WORKER, busy=4), replace(WORKER, slots=1)],
        place=QueuePlace("the queue q", 3, 3),
    )

    assert one[1:3] == (
        "It is queued, and the worker of its queue q has 4 slots, of which 4 are taken.",
        f"The end of 1 task there, {start}",
    )
    assert two[1:3] == (
        (
            "It is queued, and the 2 workers of its queue q have 5 slots, of which 5 are taken, "
            "and 2 attempts in the queue before it."
        ),
        f"The end of 3 tasks there, {start}",
    )


def test_what_an_attempt_before_has_left() -> None:
    left = replace(ATTEMPT, left="application a")
    said = "An attempt before it was lost, and has left application a on its cluster: attempt 2"

    workers = [WORKER]
    assert told("queued", left, workers=workers)[3][0] == f"{said} takes that up."
    ends = replace(left, stop_to=TaskState.SKIPPED)
    assert told("queued", ends, workers=workers)[3][0] == (
        f"{said} only ends that, and then the task is skipped."
    )
    assert told("queued", left, revoked_at=NOW)[3] == (f"{said} takes that up.",)
