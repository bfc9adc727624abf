"""What task instances and runs are called in explanations."""

import pytest

from headway.decide.explain.explanation import Holder, Subject
from headway.decide.explain.snapshot import TaskRow
from headway.domain.states import TaskState


@pytest.mark.parametrize(("map_index", "name"), [(-1, "t"), (0, "t[0]"), (7, "t[7]")])
def test_a_task_instance_is_called_by_its_task_and_its_place(map_index: int, name: str) -> None:
    assert Subject("d", "r", "t", map_index).name == name
    assert Holder(dag_id="d", run_id="r", task_id="t", map_index=map_index, state="s").name == name
    row = TaskRow(
        id=1,
        task_id="t",
        map_index=map_index,
        state=TaskState.RUNNING,
        attempt=1,
        failures=0,
        losses=0,
        pool="p",
        pool_slots=1,
        queue="q",
        priority=1,
        rank=0.0,
        retry_at=None,
        started_at=None,
        ended_at=None,
    )
    assert row.name == name


def test_a_run_is_called_by_its_id_and_a_task_is_not_mapped_unless_that_is_said() -> None:
    assert Holder(dag_id="d", run_id="r", state="running").name == "r"
    assert Holder(dag_id="d", run_id="r", task_id="t", state="running").name == "t"
