from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.admit import Admission, Capacity, ReadyTask, Refusal, admit


def ready(*slots: int, dag_id: str = "d", pool: str = "p") -> list[ReadyTask]:
    return [ReadyTask(number, dag_id, pool, count) for number, count in enumerate(slots, start=1)]


def test_tasks_are_taken_in_order_until_the_pool_is_full() -> None:
    admission = admit(ready(1, 1, 1), Capacity({"p": 2}, {"d": 10}))

    assert admission == Admission([1, 2], {Refusal.POOL_FULL: 1})


def test_tasks_are_taken_in_order_until_the_dag_is_full() -> None:
    admission = admit(ready(1, 1, 1), Capacity({"p": 10}, {"d": 2}))

    assert admission == Admission([1, 2], {Refusal.DAG_FULL: 1})


def test_one_that_does_not_fit_is_passed_over_for_smaller_ones_behind_it() -> None:
    admission = admit(ready(2, 3, 1, 1), Capacity({"p": 4}, {"d": 10}))

    assert admission == Admission([1, 3, 4], {Refusal.POOL_FULL: 1})


def test_a_full_dag_holds_up_no_other_one() -> None:
    tasks = [ReadyTask(1, "full", "p", 1), ReadyTask(2, "free", "p", 1)]

    assert admit(tasks, Capacity({"p": 1}, {"full": 0, "free": 1})).task_ids == [2]


def test_a_full_pool_holds_up_no_other_one() -> None:
    tasks = [ReadyTask(1, "d", "full", 1), ReadyTask(2, "d", "free", 1)]

    assert admit(tasks, Capacity({"full": 0, "free": 1}, {"d": 1})).task_ids == [2]


def test_what_this_scheduler_has_not_locked_is_not_its_to_give() -> None:
    assert admit(ready(1), Capacity({}, {"d": 1})).refused == {Refusal.POOL_FULL: 1}
    assert admit(ready(1), Capacity({"p": 1}, {})).refused == {Refusal.DAG_FULL: 1}


def test_an_overfull_pool_or_dag_admits_nothing() -> None:
    assert admit(ready(1), Capacity({"p": -2}, {"d": 1})).task_ids == []
    assert admit(ready(1), Capacity({"p": 1}, {"d": -2})).task_ids == []


def test_the_capacity_that_was_given_is_left_as_it_is() -> None:
    slots, places = {"p": 1}, {"d": 1}

    admit(ready(1), Capacity(slots, places))

    assert (slots, places) == ({"p": 1}, {"d": 1})


NAMES = st.sampled_from("abc")
CAPACITIES = st.dictionaries(NAMES, st.integers(-2, 8))
TASKS = st.lists(st.tuples(NAMES, NAMES, st.integers(1, 4)))


@given(TASKS, CAPACITIES, CAPACITIES)
def test_no_limit_is_passed_and_nothing_that_fits_is_left(
    tasks: list[tuple[str, str, int]], slots: dict[str, int], places: dict[str, int]
) -> None:
    waiting = [ReadyTask(number, *task) for number, task in enumerate(tasks)]

    admission = admit(waiting, Capacity(slots, places))

    admitted = [waiting[number] for number in admission.task_ids]
    used, taken = Counter[str](), Counter[str]()
    for task in admitted:
        used[task.pool] += task.pool_slots
        taken[task.dag_id] += 1
    assert all(count <= slots[pool] for pool, count in used.items())
    assert all(count <= places[dag] for dag, count in taken.items())
    for task in waiting:
        if task not in admitted:
            no_slots = slots.get(task.pool, 0) - used[task.pool] < task.pool_slots
            assert no_slots or places.get(task.dag_id, 0) - taken[task.dag_id] < 1
    assert len(admitted) + sum(admission.refused.values()) == len(waiting)
