"""Why a task instance that is scheduled has not been queued: `admit` tells what refuses it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from headway.decide.explain.explanation import Explanation, Holder, QueuePlace, Reason, single
from headway.decide.explain.run import no_scheduler
from headway.decide.explain.snapshot import DagRow, ProcessRow, alive
from headway.decide.explain.wording import command, counted, listed, ordinal
from headway.decide.scheduling.admit import READ_AHEAD, Budget, Limit, ReadyTask, admit


@dataclass(frozen=True, slots=True)
class WaitingTask:
    """A scheduled task instance with what people call it by."""

    task: ReadyTask
    run_id: str
    map_index: int
    since: datetime | None = None

    def holder(self) -> Holder:
        """Return it as one that is before another in the queue order."""
        task = self.task
        return Holder(
            dag_id=task.dag_id,
            run_id=self.run_id,
            task_id=task.task_id,
            map_index=self.map_index,
            state="scheduled",
            slots=task.pool_slots,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadySnapshot:
    """A scheduled task instance, the budgets that it draws on, and its place in the queue order.

    `limits` say how much each budget has in all, `free` what is left of it; the pool is not
    among them when there is none of that name.  `holders` are the first of those that have
    the rest.  `ahead` are those before it in the queue order of its pool; `aging` the seconds
    that are worth one unit of priority; `draining` are the workers of its queue that take no more.
    """

    dag: DagRow
    task: ReadyTask
    limits: Mapping[Budget, int]
    free: Mapping[Budget, int]
    holders: Mapping[Budget, Sequence[Holder]]
    ahead: Sequence[WaitingTask]
    place: QueuePlace
    schedulers: Sequence[ProcessRow]
    aging: float
    draining: Sequence[ProcessRow] = ()


def short_of(task: ReadyTask, free: Mapping[Budget, int]) -> list[Budget]:
    """Return the budgets that refuse the task even when nothing is before it, in their order."""
    given = dict(free)
    found: list[Budget] = []
    while task.id in (refused := admit([task], given).refused):
        budget = refused[task.id]
        found.append(budget)
        given[budget] = task.pool_slots
    return found


def explain_ready(it: ReadySnapshot) -> Explanation:
    """Say why a scheduled task instance is not queued."""
    return single(_held(it), lambda: _next_in_order(it))


def _held(it: ReadySnapshot) -> Iterator[Explanation]:
    if not alive(it.schedulers):
        yield no_scheduler(it.schedulers)
    if it.dag.paused:
        yield Explanation(
            reason=Reason.DAG_PAUSED,
            sentence=f"{it.dag.dag_id} is paused, and no task of a paused DAG is queued.",
            change=command("dags", "unpause", it.dag.dag_id),
            place=it.place,
        )
    for budget in short_of(it.task, it.free):
        if budget.limit is Limit.SCHEDULER and not alive(it.schedulers):
            continue
        yield _SAY[budget.limit](it, budget)


def _next_in_order(it: ReadySnapshot) -> Explanation:
    """Say that it fits: whether those before it in the queue order leave it enough."""
    admission = admit([*(each.task for each in it.ahead), it.task], it.free)
    budget = admission.refused.get(it.task.id)
    if budget is None:
        return Explanation(
            reason=Reason.ADMITTED_NEXT,
            sentence="Nothing holds it: it is queued in a scheduler's next pass.",
            change="Nothing is to be done.",
            place=it.place,
        )
    admitted = set(admission.task_ids)
    before = [each for each in it.ahead if each.task.id in admitted and _draws(each.task, budget)]
    left = it.free[budget]
    units = counted(left, "slot" if budget.limit is Limit.POOL else "place")
    return Explanation(
        reason=Reason.BEHIND,
        sentence=f"It is the {ordinal(it.place.nth)} of {it.place.of:,} in the queue order of "
        f"{it.place.queue}, and what is left of {_whose(budget)}, {units}, goes to "
        f"{counted(len(before), 'task')} before it.",
        change=f"Its turn, or more of {_whose(budget)}.",
        held_by=tuple(each.holder() for each in before),
        place=it.place,
        facts=(f"Each unit of priority_weight is worth {it.aging:g} s of waiting.",),
    )


def _draws(task: ReadyTask, budget: Budget) -> bool:
    return any(drawn == budget for drawn, _ in task.draws())


def _whose(budget: Budget) -> str:
    owner = str(budget.owner[0]) if budget.owner else ""
    return {
        Limit.POOL: f"the pool {owner}",
        Limit.QUEUE: f"the queue {owner}",
        Limit.SCHEDULER: "the schedulers' parallelism",
        Limit.DAG: f"the max_active_tasks of {owner}",
        Limit.RUN: "the run's max_active_tasks_per_dagrun",
        Limit.TASK: "its max_active_tis_per_dag",
        Limit.TASK_IN_RUN: "its max_active_tis_per_dagrun",
        Limit.BACKFILL: "its backfill's share of the pool",
        Limit.SPARE: f"the idle slots of the queue {owner}",
    }[budget.limit]


def _pool(it: ReadySnapshot, budget: Budget) -> Explanation:
    name, slots = it.task.pool, it.task.pool_slots
    if budget not in it.limits:
        return Explanation(
            reason=Reason.NO_POOL,
            sentence=f"Its pool {name} does not exist.",
            change=f"{command('pools', 'set', name, slots)}, or more slots than that.",
            place=it.place,
        )
    most, free = it.limits[budget], it.free.get(budget, 0)
    if slots > most:
        return Explanation(
            reason=Reason.POOL_TOO_SMALL,
            sentence=f"It takes {counted(slots, 'slot')} of the pool {name}, which has {most:,} in "
            "all.",
            change=f"{command('pools', 'set', name, slots)}, or more slots than that.",
            place=it.place,
        )
    return Explanation(
        reason=Reason.POOL,
        sentence=f"It takes {counted(slots, 'slot')} of the pool {name}, and "
        f"{_are(free, most)} free.",
        change=f"Other tasks release {counted(slots - free, 'slot')}, or the pool gets more slots: "
        f"{command('pools', 'set', name, most - free + slots)}.",
        held_by=tuple(it.holders.get(budget, ())),
        place=it.place,
    )


def _queue(it: ReadySnapshot, budget: Budget) -> Explanation:
    queue = it.task.queue
    if budget not in it.limits:
        draining = [them.name for them in it.draining]
        known = f"; draining, and taking no more: {listed(draining)}" if draining else ""
        return Explanation(
            reason=Reason.NO_WORKER,
            sentence=f"No worker that is alive serves its queue {queue}{known}.",
            change=f"Start one: `HEADWAY_WORKER_QUEUES={queue} headway worker`.",
            place=it.place,
        )
    most = it.limits[budget]
    live = counted(most - it.free.get(budget, 0), "task")
    return Explanation(
        reason=Reason.QUEUE,
        sentence=f"The queue {queue} has {live} queued or running, and its workers are given "
        f"{most:,} at most, {READ_AHEAD} times as many as they have slots.",
        change=f"{_ends(it, budget)}, or another worker: "
        f"`HEADWAY_WORKER_QUEUES={queue} headway worker`.",
        held_by=tuple(it.holders.get(budget, ())),
        place=it.place,
    )


def _parallelism(it: ReadySnapshot, budget: Budget) -> Explanation:
    shares = [f"{them.name} {them.busy:,} of {them.slots:,}" for them in alive(it.schedulers)]
    return Explanation(
        reason=Reason.PARALLELISM,
        sentence="Every live scheduler has as many tasks queued or running as its parallelism "
        f"allows: {listed(shares)}.",
        change="The end of one of these tasks, another scheduler, or a higher "
        "HEADWAY_SCHEDULER_PARALLELISM.",
        held_by=tuple(it.holders.get(budget, ())),
        place=it.place,
    )


def _dag(it: ReadySnapshot, budget: Budget) -> Explanation:
    return _narrow(it, budget, Reason.MAX_ACTIVE_TASKS, f"{it.dag.dag_id} has")


def _run(it: ReadySnapshot, budget: Budget) -> Explanation:
    return _narrow(it, budget, Reason.MAX_ACTIVE_TASKS_PER_DAGRUN, "Its run has")


def _task(it: ReadySnapshot, budget: Budget) -> Explanation:
    what = f"{it.task.task_id} has, in all runs of {it.dag.dag_id},"
    return _narrow(it, budget, Reason.MAX_ACTIVE_TIS_PER_DAG, what)


def _task_in_run(it: ReadySnapshot, budget: Budget) -> Explanation:
    what = f"{it.task.task_id} has in its run"
    return _narrow(it, budget, Reason.MAX_ACTIVE_TIS_PER_DAGRUN, what)


def _narrow(it: ReadySnapshot, budget: Budget, reason: Reason, what: str) -> Explanation:
    most, free = it.limits[budget], it.free.get(budget, 0)
    what_is = "active task" if budget.limit in {Limit.DAG, Limit.RUN} else "active instance"
    higher = f"or a higher {budget.limit} in {it.dag.relative_path}"
    if budget.limit is not Limit.DAG:
        higher += ", for runs that are created from then on"
    return Explanation(
        reason=reason,
        sentence=f"{what} {counted(most - free, what_is)}, and {budget.limit} allows {most:,}.",
        change=f"{_ends(it, budget)}, {higher}.",
        held_by=tuple(it.holders.get(budget, ())),
        place=it.place,
    )


def _backfill(it: ReadySnapshot, budget: Budget) -> Explanation:
    most, free = it.limits.get(budget, 0), it.free.get(budget, 0)
    pool, number = budget.owner
    if it.task.pool_slots > most:
        return Explanation(
            reason=Reason.BACKFILL_WEIGHT,
            sentence=f"It takes {counted(it.task.pool_slots, 'slot')} of the pool {pool}, and "
            f"backfill {number} may hold {most:,} by its weight: a task that takes more than that "
            "starts alone, when its backfill holds none and no other task waits for the slots.",
            change="The end of what its backfill holds, and its turn before the backfill's others.",
            held_by=tuple(it.holders.get(budget, ())),
            place=it.place,
        )
    return Explanation(
        reason=Reason.BACKFILL_WEIGHT,
        sentence=f"Backfill {number} may take {counted(most, 'slot')} of the pool {pool} by its "
        f"weight, and {counted(max(free, 0), 'slot')} more as things stand: it takes none that "
        "another task waits for.",
        change="The end of one of its tasks, or of what is before them in the queue order.",
        held_by=tuple(it.holders.get(budget, ())),
        place=it.place,
    )


def _spare(it: ReadySnapshot, budget: Budget) -> Explanation:
    return Explanation(
        reason=Reason.IDLE_SLOTS,
        sentence=f"It is of a backfill, which takes slots of workers that are idle, and the queue "
        f"{it.task.queue} has none.",
        change="The end of one of the tasks that its workers have, or another worker: "
        f"`HEADWAY_WORKER_QUEUES={it.task.queue} headway worker`.",
        held_by=tuple(it.holders.get(budget, ())),
        place=it.place,
    )


def _ends(it: ReadySnapshot, budget: Budget) -> str:
    many = 1 - it.free.get(budget, 0)
    return "The end of one of these" if many == 1 else f"The end of {many:,} of these"


def _are(number: int, of: int) -> str:
    return f"{max(number, 0):,} of its {of:,} {'is' if number == 1 else 'are'}"


_SAY: Final = {
    Limit.POOL: _pool,
    Limit.QUEUE: _queue,
    Limit.SCHEDULER: _parallelism,
    Limit.DAG: _dag,
    Limit.RUN: _run,
    Limit.TASK: _task,
    Limit.TASK_IN_RUN: _task_in_run,
    Limit.BACKFILL: _backfill,
    Limit.SPARE: _spare,
}
