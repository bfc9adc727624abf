"""Tasks and groups as a list."""

from hypothesis import given
from hypothesis import strategies as st

from headway.decide.charts.outline import OutlineRow, outlined
from headway.domain.dag.task_groups import GroupSpec

GROUPS = (
    GroupSpec(group_id="g", tasks=("g.b", "g.e")),
    GroupSpec(group_id="g.h", parent="g", tasks=("g.h.c",)),
    GroupSpec(group_id="empty"),
)
TASKS = ["a", "g.b", "d", "g.h.c", "g.e"]


def test_a_group_stands_where_its_first_task_would() -> None:
    assert outlined(TASKS, GROUPS) == [
        OutlineRow("a", None, 0),
        OutlineRow("g", None, 0, ["g.b", "g.h.c", "g.e"]),
        OutlineRow("g.b", "g", 1),
        OutlineRow("g.h", "g", 1, ["g.h.c"]),
        OutlineRow("g.h.c", "g.h", 2),
        OutlineRow("g.e", "g", 1),
        OutlineRow("d", None, 0),
    ]


def test_what_is_in_a_folded_group_has_no_rows() -> None:
    found = outlined(TASKS, GROUPS, {"g", "other"})

    assert [(row.name, row.folded) for row in found] == [("a", False), ("g", True), ("d", False)]


def test_a_group_is_that_of_the_tasks_that_are_listed() -> None:
    assert outlined(["g.e"], GROUPS)[0] == OutlineRow("g", None, 0, ["g.e"])


def test_a_group_with_the_id_of_a_task_of_another_version_is_left_out() -> None:
    found = outlined([*TASKS, "g"], GROUPS)

    assert [row.name for row in found] == ["a", "g.b", "d", "g.h", "g.h.c", "g.e", "g"]


@given(st.permutations(TASKS), st.sets(st.sampled_from(["g", "g.h"])))
def test_each_task_has_a_row_or_is_in_a_folded_group(tasks: list[str], folded: set[str]) -> None:
    found = outlined(tasks, GROUPS, folded)

    hidden = {task for row in found if row.folded for task in row.tasks}
    assert sorted({row.name for row in found if not row.tasks} | hidden) == sorted(TASKS)
    assert len({row.name for row in found}) == len(found)
