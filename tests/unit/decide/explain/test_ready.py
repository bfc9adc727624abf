from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.decide.explain.explanation import QueuePlace, Reason
from headway.decide.explain.ready import ReadySnapshot, WaitingTask, explain_ready, short_of
from headway.decide.explain.snapshot import DagRow, ProcessRow
from headway.decide.scheduling.admit import Budget, Limit, ReadyTask, admit

TASK = ReadyTask(
    id=100,
    dag_id="d",
    dag_run_id=1,
    task_id="t",
    pool="p",
    pool_slots=2,
    queue="q",
    rank=10.0,
    priority_class=1,
    backfill_id=3,
    per_run=5,
    tis_per_dag=4,
    tis_per_dagrun=3,
)
BUDGETS = dict(TASK.draws())
DAG = DagRow(
    dag_id="d",
    relative_path="d.py",
    active=True,
    paused=False,
    max_active_runs=16,
    max_active_tasks=16,
    planned=True,
    next_run_after=None,
    next_interval_start=None,
)
SCHEDULER = ProcessRow(
    id=1, kind="scheduler", hostname="h", pid=2, slots=9, busy=9, silent=1.0, alive=True
)
REASONS = {
    Limit.POOL: Reason.POOL,
    Limit.QUEUE: Reason.QUEUE,
    Limit.SCHEDULER: Reason.PARALLELISM,
    Limit.DAG: Reason.MAX_ACTIVE_TASKS,
    Limit.RUN: Reason.MAX_ACTIVE_TASKS_PER_DAGRUN,
    Limit.TASK: Reason.MAX_ACTIVE_TIS_PER_DAG,
    Limit.TASK_IN_RUN: Reason.MAX_ACTIVE_TIS_PER_DAGRUN,
    Limit.BACKFILL: Reason.BACKFILL_WEIGHT,
    Limit.SPARE: Reason.IDLE_SLOTS,
}


def snapshot(**free: int) -> ReadySnapshot:
    """How it stands when these limits have so much left, and all others enough."""
    given = {Limit[name]: left for name, left in free.items()}
    return ReadySnapshot(
        dag=DAG,
        task=TASK,
        limits=dict.fromkeys(BUDGETS, 9),
        free={budget: given.get(budget.limit, 9) for budget in BUDGETS},
        holders={},
        ahead=(),
        place=QueuePlace("the pool p", 1, 1),
        schedulers=[SCHEDULER],
        aging=60.0,
    )


def ahead(count: int, **changes: object) -> list[WaitingTask]:
    return [
        WaitingTask(replace(TASK, id=number, rank=float(number), **changes), "r", -1)  # type: ignore[arg-type]
        for number in range(count)
    ]


def test_every_limit_has_its_reason() -> None:
    found = {
        limit: explain_ready(
            snapshot(**{limit.name: TASK.pool_slots - 1 if limit is Limit.POOL else 0})
        )
        for limit in Limit
    }

    assert {limit: told.reason for limit, told in found.items()} == REASONS
    assert all(told.facts == () for told in found.values())
    assert len({told.sentence for told in found.values()}) == len(Limit)


def test_of_several_limits_the_widest_is_the_reason_and_the_others_are_facts() -> None:
    told = explain_ready(snapshot(RUN=0, DAG=0, TASK_IN_RUN=0))

    assert told.reason is Reason.MAX_ACTIVE_TASKS
    assert told.facts == (
        "Besides: Its run has 9 active tasks, and max_active_tasks_per_dagrun allows 9.",
        "Besides: t has in its run 9 active instances, and max_active_tis_per_dagrun allows 9.",
    )


def test_that_nobody_schedules_comes_before_all_limits() -> None:
    told = explain_ready(replace(snapshot(POOL=0, SCHEDULER=0), schedulers=()))

    assert told.reason is Reason.NO_SCHEDULER
    assert [fact.split()[1] for fact in told.facts] == ["It"]  # the pool; no parallelism is short


def test_a_paused_dag_comes_before_all_limits() -> None:
    told = explain_ready(replace(snapshot(POOL=0), dag=replace(DAG, paused=True)))

    assert told.reason is Reason.DAG_PAUSED
    assert len(told.facts) == 1


def test_a_queue_that_nobody_serves_is_told_from_one_that_is_full() -> None:
    full = snapshot(QUEUE=0)
    unserved = replace(
        full,
        limits={
            budget: most for budget, most in full.limits.items() if budget.limit is not Limit.QUEUE
        },
    )

    assert explain_ready(full).reason is Reason.QUEUE
    assert explain_ready(unserved).reason is Reason.NO_WORKER
    assert "draining" not in explain_ready(unserved).sentence


@pytest.mark.parametrize(
    ("free", "said"), [(0, "The end of one of these, or"), (-2, "The end of 3 of these, or")]
)
def test_how_many_of_those_before_it_must_end(free: int, said: str) -> None:
    assert explain_ready(snapshot(QUEUE=free)).change.startswith(said)


def test_workers_that_drain_serve_nobody_and_are_named() -> None:
    unserved = replace(snapshot(QUEUE=0), limits={Budget(Limit.POOL, ("p",)): 9})
    drains = replace(SCHEDULER, id=7, kind="worker", draining=True)

    found = explain_ready(replace(unserved, draining=[drains]))

    assert found.reason is Reason.NO_WORKER
    assert found.sentence.endswith("; draining, and taking no more: worker 7 (pid 2 on h).")


def test_the_number_of_slots_that_would_do() -> None:
    """As many as those who hold slots and the task need together."""
    assert "`headway pools set p 10`" in explain_ready(snapshot(POOL=1)).change
    assert "`headway pools set p 14`" in explain_ready(snapshot(POOL=-3)).change
    assert "Other tasks release 5 slots" in explain_ready(snapshot(POOL=-3)).change


def test_a_task_that_takes_more_slots_than_its_pool_has() -> None:
    """Slots that become free would not help."""
    small = snapshot()
    pool = next(budget for budget in BUDGETS if budget.limit is Limit.POOL)
    found = explain_ready(
        replace(small, limits={**small.limits, pool: 1}, free={**small.free, pool: 1})
    )

    assert found.reason is Reason.POOL_TOO_SMALL
    assert found.sentence == "It takes 2 slots of the pool p, which has 1 in all."
    assert found.change == "`headway pools set p 2`, or more slots than that."


def test_a_queue_of_which_nothing_is_known_to_be_free_is_full() -> None:
    full = snapshot()
    queue = next(budget for budget in BUDGETS if budget.limit is Limit.QUEUE)
    free = {budget: left for budget, left in full.free.items() if budget != queue}

    assert "has 9 tasks queued or running" in explain_ready(replace(full, free=free)).sentence


def test_it_is_behind_when_those_before_it_take_what_is_left() -> None:
    free = snapshot(POOL=5)

    two = explain_ready(replace(free, ahead=ahead(2), place=QueuePlace("the pool p", 3, 3)))
    one = explain_ready(replace(free, ahead=ahead(1), place=QueuePlace("the pool p", 2, 2)))

    assert two.reason is Reason.BEHIND
    assert len(two.held_by) == 2
    assert one.reason is Reason.ADMITTED_NEXT


def test_those_before_it_that_do_not_fit_are_not_in_its_way() -> None:
    too_big = explain_ready(replace(snapshot(POOL=5), ahead=ahead(2, pool_slots=6)))

    assert too_big.reason is Reason.ADMITTED_NEXT


def test_only_those_before_it_that_draw_on_what_is_short_are_named() -> None:
    """Those of another DAG, before it in the same pool, take no place of its DAG."""
    others = replace(TASK, id=50, dag_id="other", dag_run_id=2, task_id="x", pool_slots=1)
    both = [*ahead(1), WaitingTask(others, "r", -1)]
    free = dict(snapshot(DAG=1).free)
    free |= {budget: 9 for budget, _ in others.draws() if budget not in free}

    told = explain_ready(replace(snapshot(), ahead=both, free=free))

    assert told.reason is Reason.BEHIND
    assert "the max_active_tasks of d, 1 place, goes to 1 task before it" in told.sentence
    assert [holder.dag_id for holder in told.held_by] == ["d"]


@given(st.dictionaries(st.sampled_from(list(BUDGETS)), st.integers(-2, 3)))
def test_what_it_is_short_of_is_all_that_it_needs_to_be_admitted(free: dict[Budget, int]) -> None:
    short = short_of(TASK, free)

    assert bool(short) == bool(admit([TASK], free).refused)
    assert short == [budget for budget, amount in TASK.draws() if free.get(budget, 0) < amount]
    mended = {**free, **{budget: BUDGETS[budget] for budget in short}}
    assert admit([TASK], mended).task_ids == [TASK.id]


def test_a_task_that_takes_more_than_the_share_of_its_backfill_starts_alone() -> None:
    share = next(budget for budget in BUDGETS if budget.limit is Limit.BACKFILL)
    held = snapshot(BACKFILL=0)

    assert "may take 9 slots" in explain_ready(held).sentence
    assert explain_ready(replace(held, limits=dict(held.limits) | {share: 1})).sentence == (
        "It takes 2 slots of the pool p, and backfill 3 may hold 1 by its weight: a task that "
        "takes more than that starts alone, when its backfill holds none and no other task waits "
        "for the slots."
    )
