"""How many instances a mapped task has, and which items each one is for."""

from itertools import product
from math import prod

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.dag.mapping import MAX_MAP_LENGTH, item_indexes, map_length
from headway.domain.dag.spec import Combined, MapInput
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


ZIP, LONGEST, CONCAT = Combined.ZIP, Combined.ZIP_LONGEST, Combined.CONCAT


def combined(how: Combined, *parts: MapInput) -> MapInput:
    return MapInput(argument="x", combined=how, parts=parts)


@pytest.mark.parametrize(
    ("source", "instances"),
    [
        (combined(Combined.MAP, output("a")), 3),
        (combined(ZIP, output("a"), output("b")), 3),
        (combined(LONGEST, output("a"), output("b")), 5),
        (combined(CONCAT, output("a"), output("b")), 8),
        (combined(ZIP, combined(CONCAT, output("a"), output("a")), output("b")), 5),
        (combined(ZIP, output("a"), output("none")), 0),
    ],
)
def test_combined_outputs_have_as_many_items_as_lists_would(
    source: MapInput, instances: int
) -> None:
    lengths = {(name, "return_value"): n for name, n in (("a", 3), ("b", 5), ("none", 0))}

    assert map_length([source], lengths) == instances
    assert map_length([source, literal(2, "y")], lengths) == 2 * instances


def test_each_part_of_what_is_combined_must_be_there() -> None:
    source = combined(ZIP, output("a"), combined(Combined.MAP, output("b")))

    assert list(source.sources()) == [("a", "return_value"), ("b", "return_value")]
    with pytest.raises(DagError, match="Task 'b' has left no list or dictionary"):
        map_length([source], {("a", "return_value"): 3})
