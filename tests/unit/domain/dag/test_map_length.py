"""How many instances a mapped task has, and which items each one is for."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.dag.mapping import MAX_MAP_LENGTH, item_indexes, map_length
from headway.domain.dag.spec import MapInput
from headway.domain.errors import DagError

LENGTHS = st.lists(st.integers(1, 5), min_size=1, max_size=4)


def literal(length: int, argument: str = "x") -> MapInput:
    return MapInput(argument=argument, length=length)


def output(task_id: str = "plan", key: str = "return_value") -> MapInput:
    return MapInput(argument="y", task_id=task_id, key=key)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=3))
def test_there_is_an_instance_for_each_combination(lengths: list[int]) -> None:
    literals = [literal(length) for length in lengths]
    outputs = [output(key=str(number)) for number in range(len(lengths))]
    found = {("plan", str(number)): length for number, length in enumerate(lengths)}

    assert map_length(literals, {}) == prod(lengths)
    assert map_length(outputs, found) == prod(lengths)
    assert map_length([*literals, *outputs], found, 10**9) == prod(lengths) ** 2


def test_the_limit_may_be_reached_and_no_more() -> None:
    assert map_length([literal(MAX_MAP_LENGTH)], {}) == MAX_MAP_LENGTH == 100_000
    assert map_length([literal(3), output()], {("plan", "return_value"): 4}, 12) == 12
    with pytest.raises(DagError, match="makes 100,001 instances; max_map_length allows 100,000"):
        map_length([literal(MAX_MAP_LENGTH + 1)], {})


def test_a_product_over_the_limit_names_its_factors() -> None:
    with pytest.raises(DagError) as caught:
        map_length([literal(3), output()], {("plan", "return_value"): 5_000}, 14_999)

    assert str(caught.value) == (
        "It is expanded over x (3 items), y (the XCom 'return_value' of task 'plan'), which makes "
        "3 x 5,000 = 15,000 instances; max_map_length allows 14,999. Let each instance do more."
    )


def test_nothing_among_too_much_is_nothing() -> None:
    assert map_length([literal(0), literal(MAX_MAP_LENGTH), literal(2)], {}) == 0


@pytest.mark.parametrize("lengths", [{}, {("plan", "return_value"): None}, {("plan", "b"): 3}])
def test_what_is_not_there_cannot_be_counted(lengths: dict[tuple[str, str], int | None]) -> None:
    with pytest.raises(DagError, match="'plan' has left no list or dictionary under 'return_value"):
        map_length([output()], lengths)


@given(LENGTHS)
def test_instances_go_through_the_product_with_the_last_input_fastest(lengths: list[int]) -> None:
    combinations = product(*map(range, lengths))

    found = [item_indexes(lengths, map_index) for map_index in range(prod(lengths))]

    assert found == [list(combination) for combination in combinations]


@given(LENGTHS, st.integers(0, 10))
def test_there_is_no_instance_beyond_the_product(lengths: list[int], more: int) -> None:
    for map_index in (prod(lengths) + more, -1 - more):
        with pytest.raises(DagError, match=r"There is no instance .* Clear the mapped task"):
            item_indexes(lengths, map_index)


@pytest.mark.parametrize("lengths", [[0], [3, 0], [0, 3]])
def test_there_is_no_instance_over_nothing(lengths: list[int]) -> None:
    with pytest.raises(DagError, match="There is no instance 0"):
        item_indexes(lengths, 0)
