"""What a task instance does that has been queued: it waits for a worker, runs, stops, has ended."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headway.decide.explain.explanation import Explanation, Holder, QueuePlace, Reason, single
from headway.decide.explain.run import no_scheduler
from headway.decide.explain.snapshot import (
    AskedRunRow,
    AttemptRow,
    EventRow,
    ProcessRow,
    RunRow,
    TaskRow,
    alive,
)
from headway.decide.explain.wording import command, counted, lasting, listed, timed
from headway.domain.gist import gist
from headway.domain.states import Outcome, Phase, TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptSnapshot:
    """A task instance and its last attempt, if it has one.

    `worker` is the process that has the attempt, if that has not ended; `workers` are those
    that serve its queue, `held_by` the first of what they run, `place` its place in the
    queue, which it has to leave at `revoked_at`.  `event` is the last entry of the journal
    about the task or its run, `asked_run` the last run of another DAG that the attempt asked for.
    """

    run: RunRow
    task: TaskRow
    attempt: AttemptRow | None
    worker: ProcessRow | None = None
    workers: Sequence[ProcessRow] = ()
    held_by: Sequence[Holder] = ()
    place: QueuePlace | None = None
    revoked_at: datetime | None = None
    event: EventRow | None = None
    asked_run: AskedRunRow | None = None
    schedulers: Sequence[ProcessRow] = ()
    now: datetime


def explain_attempt(it: AttemptSnapshot) -> Explanation:
    """Say what a task instance that was queued once does now."""
    match it.task.state:
        case TaskState.QUEUED:
            return _queued(it)
        case TaskState.RUNNING | TaskState.RESTARTING:
            stopping = it.attempt is not None and it.attempt.phase is Phase.STOPPING
            return _stopping(it) if stopping else _running(it)
        case TaskState.UP_FOR_RETRY:
            return _retry(it)
        case TaskState.DEFERRED:
            return _deferred(it)
    return _ended(it)


def _queued(it: AttemptSnapshot) -> Explanation:
    queued = single(_held_in_queue(it), lambda: _claimed_next(it))
    return replace(queued, facts=(*_minded(it), *queued.facts))


def _minded(it: AttemptSnapshot) -> Iterator[str]:
    if it.attempt is None or it.attempt.left is None:
        return
    left = f"An attempt before it was lost, and has left {it.attempt.left} on its cluster"
    if it.attempt.stop_to is None:
        yield f"{left}: attempt {it.attempt.attempt} takes that up."
    else:
        yield (
            f"{left}: attempt {it.attempt.attempt} only ends that, and then the task is "
            f"{_becomes(it)}."
        )


def _held_in_queue(it: AttemptSnapshot) -> Iterator[Explanation]:
    queue, workers = it.task.queue, [them for them in alive(it.workers) if not them.draining]
    start = f"`HEADWAY_WORKER_QUEUES={queue} headway worker`"
    if not workers:
        silent = [
            f"{them.name} for {lasting(them.silent)}" for them in it.workers if not them.alive
        ]
        draining = [them.name for them in alive(it.workers)]
        known = f"; silent: {listed(silent)}" if silent else ""
        known += f"; draining, and taking no more: {listed(draining)}" if draining else ""
        yield Explanation(
            reason=Reason.NO_WORKER,
            sentence=f"It is queued, and no worker that is alive serves its queue {queue}{known}.",
            change=f"Start one: {start}.",
            place=it.place,
            facts=tuple(_revoked(it)),
        )
        return
    slots, busy = sum(them.slots for them in workers), sum(them.busy for them in workers)
    before = it.place.nth - 1 if it.place is not None else 0
    if slots - busy <= before:
        ahead = f", and {counted(before, 'attempt')} in the queue before it" if before else ""
        which = "worker of its queue" if len(workers) == 1 else f"{len(workers)} workers of its"
        which = which if len(workers) == 1 else f"{which} queue"
        verb = "has" if len(workers) == 1 else "have"
        yield Explanation(
            reason=Reason.WORKERS_FULL,
            sentence=f"It is queued, and the {which} {queue} {verb} {counted(slots, 'slot')}, of "
            f"which {busy:,} are taken{ahead}.",
            change=f"The end of {counted(before + 1 - (slots - busy), 'task')} there, or another "
            f"worker: {start}.",
            held_by=tuple(it.held_by),
            place=it.place,
            facts=tuple(_revoked(it)),
        )


def _revoked(it: AttemptSnapshot) -> Iterator[str]:
    if it.revoked_at is not None and (it.attempt is None or it.attempt.left is None):
        yield (
            "Unclaimed, it goes back into the queue of its pool at "
            f"{timed(it.revoked_at, it.now)}, by task_queued_timeout."
        )


def _claimed_next(it: AttemptSnapshot) -> Explanation:
    facts = tuple(
        f"{them.name} has {them.slots - them.busy:,} of {counted(them.slots, 'slot')} free, and "
        f"was heard of {lasting(them.silent)} ago."
        for them in it.workers
        if not them.draining
    )
    since = f" since {timed(it.attempt.queued_at, it.now)}" if it.attempt is not None else ""
    return Explanation(
        reason=Reason.CLAIMED_NEXT,
        sentence=f"It is queued{since}, and a worker with a free slot claims it when it looks "
        "next.",
        change="Nothing is to be done.",
        place=it.place,
        facts=facts,
    )


def _running(it: AttemptSnapshot) -> Explanation:
    attempt = it.attempt
    assert attempt is not None
    since = timed(attempt.started_at or attempt.queued_at, it.now)
    where = "a worker that has ended" if it.worker is None else it.worker.name
    facts = [*_waits(it), *_lease(it, attempt)]
    if it.worker is not None and not it.worker.alive:
        facts.append(f"That worker has been silent for {lasting(it.worker.silent)}.")
    elif it.worker is not None and it.worker.draining:
        facts.append("That worker drains: it finishes what it has, takes no more, and ends.")
    return Explanation(
        reason=Reason.RUNNING,
        sentence=f"It is running: attempt {attempt.attempt}, on {where}, since {since}.",
        change=f"Its end; {command('tasks', 'cancel', *_names(it), '--yes')} stops it.",
        facts=tuple(facts),
    )


def _waits(it: AttemptSnapshot) -> Iterator[str]:
    asked = it.asked_run
    if asked is not None and not asked.answered:
        yield f"It asks for a run of DAG {asked.dag_id}; no scheduler has answered yet."
    elif asked is not None and asked.waits and asked.run_id is not None:
        state = "was deleted" if asked.state is None else f"is {asked.state}"
        more = command("explain", asked.dag_id, asked.run_id)
        yield (
            f"It waits for run {asked.run_id} of DAG {asked.dag_id}, which {state}; {more} says "
            "more."
        )


def _stopping(it: AttemptSnapshot) -> Explanation:
    attempt = it.attempt
    assert attempt is not None
    by = f" by {_told(it.event, it.now)}" if it.event is not None else ""
    where = "a worker that has ended" if it.worker is None else it.worker.name
    return Explanation(
        reason=Reason.STOPPING,
        sentence=f"Attempt {attempt.attempt} was told to stop{by}, and has not yet. The task is "
        f"{_becomes(it)} when it has.",
        change=f"The end of its process on {where}, which is killed when it does not end by "
        "itself.",
        facts=tuple(_lease(it, attempt)),
    )


def _becomes(it: AttemptSnapshot) -> str:
    assert it.attempt is not None
    assert it.attempt.stop_to is not None
    return {TaskState.NONE: "decided anew"}.get(it.attempt.stop_to, str(it.attempt.stop_to))


def _lease(it: AttemptSnapshot, attempt: AttemptRow) -> Iterator[str]:
    if attempt.lease_until is not None:
        over = attempt.lease_until < it.now
        tense = "ran out, unrenewed," if over else "runs out, unless it renews it,"
        lost = " A scheduler is about to take it for lost." if over else ""
        yield f"The worker's lease {tense} at {timed(attempt.lease_until, it.now)}.{lost}"


def _retry(it: AttemptSnapshot) -> Explanation:
    assert it.task.retry_at is not None
    lost = it.attempt is not None and it.attempt.outcome is Outcome.LOST
    what = "was lost with its worker" if lost else "failed"
    facts = [f"Attempts so far: {it.task.failures:,} failed, {it.task.losses:,} lost."]
    facts += [f"Attempt {it.attempt.attempt}: {line}" for line in _error(it)] if it.attempt else []
    again = Explanation(
        reason=Reason.RETRY,
        sentence=f"Attempt {it.task.attempt} {what}, and the task is tried again "
        f"at {timed(it.task.retry_at, it.now)}.",
        change=f"Time; or {_clear(it)}, to have it run again now.",
        facts=tuple(facts),
    )
    over = it.task.retry_at <= it.now
    return single(_nobody_schedules(it) if over else (), lambda: again)


def _nobody_schedules(it: AttemptSnapshot) -> Iterator[Explanation]:
    if not alive(it.schedulers):
        yield no_scheduler(it.schedulers)


def _deferred(it: AttemptSnapshot) -> Explanation:
    return Explanation(
        reason=Reason.DEFERRED,
        sentence=f"Attempt {it.task.attempt} has deferred itself, and waits for what it asked for.",
        change=f"That event; {_clear(it)} has it run again now.",
    )


def _ended(it: AttemptSnapshot) -> Explanation:
    task, attempt = it.task, it.attempt
    at = "" if task.ended_at is None else f" at {timed(task.ended_at, it.now)}"
    facts = []
    if attempt is None or attempt.phase is not Phase.ENDED:
        how = ", without having run"
    else:
        how = f", by attempt {attempt.attempt}"
        if attempt.started_at is not None and attempt.ended_at is not None:
            seconds = (attempt.ended_at - attempt.started_at).total_seconds()
            how += f", which took {lasting(seconds)}"
        facts += [f"Attempt {attempt.attempt}: {line}" for line in _error(it)]
    if it.event is not None:
        facts.append(f"The last change to the run or the task: {_told(it.event, it.now)}.")
    return Explanation(
        reason=Reason.ENDED,
        sentence=f"It has ended as {task.state}{at}{how}.",
        change=f"{_clear(it)} has it run again.",
        facts=tuple(facts),
    )


def _error(it: AttemptSnapshot) -> Iterator[str]:
    if it.attempt is not None and it.attempt.error:
        yield gist(it.attempt.error)


def _told(event: EventRow, now: datetime) -> str:
    said = f": {event.reason or event.problem}" if event.reason or event.problem else ""
    return f"{event.actor} ({event.action}, {timed(event.at, now)}{said})"


def _clear(it: AttemptSnapshot) -> str:
    return command("tasks", "clear", *_names(it), "--yes")


def _names(it: AttemptSnapshot) -> tuple[str, str, str]:
    return it.run.dag_id, it.run.run_id, it.task.task_id
