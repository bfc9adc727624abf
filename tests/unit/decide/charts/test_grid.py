"""The bytes of a grid."""

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.charts.grid import (
    CODED,
    MAPPED,
    RETRIED,
    MappedCell,
    PackedCells,
    column,
    together,
)
from headway.domain.states import TaskState


def test_each_state_has_a_code_of_four_bits() -> None:
    assert sorted(CODED) == sorted(TaskState)
    assert len(CODED) < RETRIED


def test_a_run_without_instances_is_empty() -> None:
    assert column(["a", "b"], None, {}) == b"\0\0"


@given(st.lists(st.integers(0, 255), max_size=300), st.randoms())
def test_cells_are_where_their_rows_are_in_any_order(cells: list[int], random: object) -> None:
    numbers = [row << 8 | cell for row, cell in enumerate(cells)]
    random.shuffle(numbers)  # type: ignore[attr-defined]
    packed = PackedCells(pack(f">{len(numbers)}I", *numbers))

    assert column([f"t{n}" for n in range(len(cells))], packed, {}) == bytes(cells)


def test_the_most_telling_state_of_several_instances_is_shown() -> None:
    states = {TaskState.SUCCESS: 98, TaskState.FAILED: 1, TaskState.RUNNING: 1}

    found = column(
        ["a", "m"], None, {"m": MappedCell(states, retried=True), "gone": MappedCell(states, False)}
    )

    assert found == bytes([0, CODED.index(TaskState.FAILED) + 1 + MAPPED + RETRIED])


def test_a_row_of_several_tasks_has_the_most_telling_state_of_each_run() -> None:
    failed, success = CODED.index(TaskState.FAILED) + 1, CODED.index(TaskState.SUCCESS) + 1
    first = bytes([success, success | RETRIED, 0])
    second = bytes([failed | MAPPED, success, 0])

    assert together([first, second]) == bytes([failed, success | RETRIED, 0])
    assert together([second]) == bytes([failed, success, 0])
    assert together([b"", b""]) == b""
