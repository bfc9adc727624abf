from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.decide.scheduling.admit import Admission, Budget, Limit, ReadyTask, admit

POOL = Budget(Limit.POOL, ("p",))
QUEUE = Budget(Limit.QUEUE, ("q",))
SCHEDULER = Budget(Limit.SCHEDULER, ())
DAG = Budget(Limit.DAG, ("d",))
RUN = Budget(Limit.RUN, (7,))
TASK = Budget(Limit.TASK, ("d", "t"))
TASK_IN_RUN = Budget(Limit.TASK_IN_RUN, (7, "t"))
PLENTY = dict.fromkeys((POOL, QUEUE, SCHEDULER, DAG, RUN, TASK, TASK_IN_RUN), 10)


def ready(number: int = 1, slots: int = 1) -> ReadyTask:
    """A task to which every limit applies."""
    return ReadyTask(
        id=number,
        dag_id="d",
        dag_run_id=7,
        task_id="t",
        pool="p",
        pool_slots=slots,
        queue="q",
        rank=0.0,
        per_run=1,
        tis_per_dag=1,
        tis_per_dagrun=1,
    )


def tasks(*slots: int) -> list[ReadyTask]:
    return [ready(number, count) for number, count in enumerate(slots, start=1)]


def free(**amounts: int) -> dict[Budget, int]:
    """Plenty of everything but of these."""
    return PLENTY | {globals()[name]: amount for name, amount in amounts.items()}


@pytest.mark.parametrize("budget", PLENTY, ids=lambda budget: budget.limit.name)
def test_tasks_are_taken_in_order_until_a_limit_is_reached(budget: Budget) -> None:
    admission = admit(tasks(1, 1, 1), {**PLENTY, budget: 2})

    assert admission == Admission([1, 2], {3: budget})


@pytest.mark.parametrize("budget", PLENTY, ids=lambda budget: budget.limit.name)
def test_what_nobody_has_given_is_not_there_to_take(budget: Budget) -> None:
    """Another scheduler has locked it."""
    rest = {other: amount for other, amount in PLENTY.items() if other != budget}

    assert admit(tasks(1), rest) == Admission([], {1: budget})


@pytest.mark.parametrize("budget", PLENTY, ids=lambda budget: budget.limit.name)
def test_what_is_overdrawn_admits_nothing(budget: Budget) -> None:
    assert admit(tasks(1), {**PLENTY, budget: -2}) == Admission([], {1: budget})


@pytest.mark.parametrize("budget", [RUN, TASK, TASK_IN_RUN], ids=lambda budget: budget.limit.name)
def test_a_limit_that_a_task_does_not_have_does_not_apply(budget: Budget) -> None:
    field = {RUN: "per_run", TASK: "tis_per_dag", TASK_IN_RUN: "tis_per_dagrun"}[budget]
    unlimited: dict[str, None] = {field: None}

    assert admit([replace(ready(), **unlimited)], {**PLENTY, budget: 0}).task_ids == [1]  # type: ignore[arg-type]


def test_a_task_takes_its_slots_of_the_pool_and_one_of_everything_else() -> None:
    taken = {budget: -amount for budget, amount in ready(slots=3).draws()}

    assert taken.pop(POOL) == -3
    assert set(taken.values()) == {-1}
    assert taken.keys() == PLENTY.keys() - {POOL}


def test_one_that_does_not_fit_is_passed_over_for_smaller_ones_behind_it() -> None:
    admission = admit(tasks(2, 3, 1, 1), free(POOL=4))

    assert admission == Admission([1, 3, 4], {2: POOL})


def test_one_that_is_passed_over_takes_nothing() -> None:
    """Too large for the pool, it leaves its place in the DAG to the next."""
    assert admit(tasks(9, 1), free(POOL=2, DAG=1)).task_ids == [2]


@pytest.mark.parametrize(
    ("limit", "other"),
    [
        (POOL, {"pool": "other"}),
        (QUEUE, {"queue": "other"}),
        (DAG, {"dag_id": "other"}),
        (RUN, {"dag_run_id": 8}),
        (TASK, {"task_id": "other"}),
        (TASK, {"dag_id": "other"}),
        (TASK_IN_RUN, {"task_id": "other"}),
        (TASK_IN_RUN, {"dag_run_id": 8}),
    ],
    ids=str,
)
def test_a_limit_that_is_reached_holds_up_nothing_else(
    limit: Budget, other: Mapping[str, str | int]
) -> None:
    elsewhere = replace(ready(2), **other)  # type: ignore[arg-type]
    plenty = dict.fromkeys((budget for budget, _ in elsewhere.draws()), 1)

    assert admit([ready(1), elsewhere], {**plenty, **PLENTY, limit: 0}) == Admission(
        [2], {1: limit}
    )


def test_a_task_is_refused_by_the_widest_limit_that_it_does_not_fit() -> None:
    order = [budget for budget, _ in ready().draws()]
    nothing = dict.fromkeys(order, 0)

    for number, budget in enumerate(order):
        given = dict.fromkeys(order[:number], 1)
        assert admit([ready()], {**nothing, **given}).refused == {1: budget}


def test_what_was_given_is_left_as_it_is() -> None:
    given = dict(PLENTY)

    admit(tasks(1, 1), given)

    assert given == PLENTY


NAMES = st.sampled_from("ab")
READY = st.lists(
    st.builds(
        ReadyTask,
        id=st.just(0),
        dag_id=NAMES,
        dag_run_id=st.integers(1, 2),
        task_id=NAMES,
        pool=NAMES,
        pool_slots=st.integers(1, 4),
        queue=NAMES,
        rank=st.just(0.0),
        per_run=st.none() | st.just(1),
        tis_per_dag=st.none() | st.just(1),
        tis_per_dagrun=st.none() | st.just(1),
    ),
    max_size=12,
)


@given(READY, st.data())
def test_no_limit_is_passed_and_nothing_that_fits_is_left(
    waiting: list[ReadyTask], data: st.DataObject
) -> None:
    waiting = [replace(task, id=number) for number, task in enumerate(waiting)]
    drawn_on = sorted({budget for task in waiting for budget, _ in task.draws()}, key=str)
    amounts = st.sampled_from([None, -1, 0, 1, 2, 5, 20])
    drawn = {budget: data.draw(amounts) for budget in drawn_on}
    given = {budget: amount for budget, amount in drawn.items() if amount is not None}

    admission = admit(waiting, given)

    taken = Counter[Budget]()
    for number, task in enumerate(waiting):
        draws = dict(task.draws())
        fits = all(
            given.get(budget, 0) - taken[budget] >= amount for budget, amount in draws.items()
        )
        assert (number in admission.task_ids) is fits
        assert (number in admission.refused) is not fits
        if fits:
            taken.update(draws)
        else:
            short = admission.refused[number]
            assert given.get(short, 0) - taken[short] < draws[short]
    assert all(taken[budget] <= given.get(budget, 0) for budget in taken)
    assert admission.task_ids == sorted(admission.task_ids)


SHARE = Budget(Limit.BACKFILL, ("p", 3))
SPARE = Budget(Limit.SPARE, ("q",))


def of_backfill(number: int, slots: int = 1, priority_class: int = 1) -> ReadyTask:
    return replace(ready(number, slots), priority_class=priority_class, backfill_id=3)


def test_a_backfill_takes_its_share_of_the_pool_and_idle_slots_alone() -> None:
    waiting = [of_backfill(1), of_backfill(2)]

    assert admit(waiting, PLENTY | {SHARE: 1, SPARE: 9}) == Admission([1], {2: SHARE})
    assert admit(waiting, PLENTY | {SHARE: 9, SPARE: 1}) == Admission([1], {2: SPARE})


def test_what_is_of_no_backfill_reads_ahead_and_takes_the_idle_slots_first() -> None:
    waiting = [ready(1), ready(2), of_backfill(3)]

    admission = admit(waiting, PLENTY | {SHARE: 9, SPARE: 1})

    assert admission == Admission([1, 2], {3: SPARE})


@pytest.mark.parametrize(("priority_class", "admitted"), [(0, [1, 3]), (1, [1]), (2, [1])])
def test_a_backfill_takes_nothing_that_another_task_was_refused(
    priority_class: int, admitted: list[int]
) -> None:
    """The small task would fit beside the large one that has to wait."""
    last = of_backfill(3, priority_class=priority_class) if priority_class else ready(3)

    admission = admit([ready(1), ready(2, 3), last], free(POOL=3) | {SHARE: 9, SPARE: 9})

    assert admission.task_ids == admitted
    assert admission.refused[2] == POOL


def test_a_backfill_takes_no_slots_while_another_task_waits_for_a_dag_that_is_held() -> None:
    """Another scheduler has it for an instant; one that is full holds up nothing else."""
    live = replace(ready(1), dag_id="other", task_id="u", tis_per_dag=None)
    waiting, other = [live, of_backfill(2)], Budget(Limit.DAG, ("other",))
    given = PLENTY | {SHARE: 9, SPARE: 9}

    assert admit(waiting, given) == Admission([], {1: other, 2: POOL})
    assert admit(waiting, given | {other: 0}) == Admission([2], {1: other})


def test_backfills_yield_to_each_other_only_by_priority_class() -> None:
    waiting = [of_backfill(1, 3), of_backfill(2, 1), of_backfill(3, 1, priority_class=2)]

    admission = admit(waiting, free(POOL=2) | {SHARE: 9, SPARE: 9})

    assert admission == Admission([2], {1: POOL, 3: POOL})
