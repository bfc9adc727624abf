"""An open DAG, and a way to run its tasks in this process."""

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.sdk import DAG, BaseOperator, XComArg
from headway.sdk.harness.execution import Result, execute
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime, MappedXComs, XComs

NEW_YORK = ZoneInfo("America/New_York")
DAY = DataInterval(
    datetime(2013, 1, 1, tzinfo=NEW_YORK),
    datetime(2013, 1, 2, tzinfo=NEW_YORK),
)


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    """Put `sys.path` back after a DAG file was loaded."""
    path = list(sys.path)
    yield
    sys.path[:] = path


@pytest.fixture
def dag() -> Iterator[DAG]:
    """A daily DAG of New York, whose `with` block is open."""
    start = datetime(2013, 1, 1, tzinfo=NEW_YORK)
    params: dict[str, JsonValue] = {"carrier": "UA", "limit": 3}
    with DAG("flights", schedule="@daily", start_date=start, params=params) as made:
        yield made


@pytest.fixture
def xcoms() -> XComs:
    """What the tasks of the run have left."""
    return {}


@pytest.fixture
def mapped() -> MappedXComs:
    """What the instances of mapped tasks have left."""
    return {}


@pytest.fixture
def run(xcoms: XComs, mapped: MappedXComs) -> Callable[..., Result]:
    """Run one task, or one instance of it, by default for the day 2013-01-01 of New York."""

    def run_task(
        task: BaseOperator | XComArg,
        map_index: int = -1,
        conf: dict[str, JsonValue] | None = None,
        interval: DataInterval = DAY,
        do: Callable[..., Result] = execute,
        run_type: RunType = RunType.MANUAL,
        **runtime: Any,
    ) -> Result:
        operator = task.as_operator()
        facts = RunFacts(
            dag_id="flights",
            run_id="scheduled__2013-01-01",
            task_id=operator.task_id,
            data_interval=interval,
            run_type=run_type,
            conf=conf or {},
            try_number=2,
            map_index=map_index,
        )
        local = LocalRuntime(operator.task_id, xcoms, mapped=mapped, map_index=map_index, **runtime)
        return do(operator, facts, local)

    return run_task
