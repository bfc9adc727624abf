"""What the fields of a DAG's specification come to."""

from typing import Any

import pytest

from headway.domain.dag.catchup import Catchup
from headway.domain.dag.spec import DagSpec, TimetableSpec


def spec(**fields: Any) -> DagSpec:
    once = TimetableSpec(name="once", arguments={})
    given = {"dag_id": "d", "relative_path": "d.py", "timetable": once, "timezone": "UTC"}
    return DagSpec(**{**given, "tasks": (), **fields})


@pytest.mark.parametrize(
    ("catchup", "mode", "missed"),
    [
        (True, None, Catchup.ALL),
        (False, None, Catchup.NONE),
        (True, Catchup.NONE, Catchup.NONE),
        (True, Catchup.LATEST, Catchup.LATEST),
        (False, Catchup.ROLLUP, Catchup.ROLLUP),
    ],
)
def test_the_mode_counts_where_there_is_one(
    catchup: bool, mode: Catchup | None, missed: Catchup
) -> None:
    assert spec(catchup=catchup, catchup_mode=mode).missed is missed
