"""The work that is scheduled: DAGs of a shape, and runs of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Connection, Engine, text

from headway.db.scheduling import runs
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.testing.data import seed
from headway.timetables.base import DagRunInfo

FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
HOUR: Final = timedelta(hours=1)
UNLIMITED: Final = 1_000_000

_RAISE_POOL: Final = text("UPDATE pool SET slots = :slots WHERE name = 'default_pool'")


@dataclass(frozen=True, slots=True)
class Shape:
    """So many DAGs, so many runs of each, so many tasks in each run: in a row or side by side."""

    name: str
    dags: int
    runs: int
    tasks: int
    chained: bool = False

    @property
    def instances(self) -> int:
        """How many task instances that makes."""
        return self.dags * self.runs * self.tasks

    def specs(self) -> list[DagSpec]:
        """Return the DAGs."""
        tasks = _chain(self.tasks) if self.chained else _side_by_side(self.tasks)
        return [spec(f"dag_{number:04}", tasks) for number in range(self.dags)]


def spec(dag_id: str, tasks: Sequence[TaskSpec]) -> DagSpec:
    """Return an hourly DAG without narrow limits, of which only runs that are entered are due."""
    return DagSpec(
        dag_id=dag_id,
        relative_path=f"{dag_id}.py",
        timetable=TimetableSpec(name="delta", arguments={"delta": 3600.0, "interval": None}),
        timezone="UTC",
        tasks=tuple(tasks),
        start_date=FIRST,
        end_date=FIRST,
        max_active_runs=UNLIMITED,
        max_active_tasks=UNLIMITED,
    )


def task(task_id: str, *upstream: str) -> TaskSpec:
    """Return a task that does nothing; change it with `dataclasses.replace`."""
    return replace(seed.task(task_id), upstream=upstream)


def store(engine: Engine, specs: Sequence[DagSpec]) -> dict[str, int]:
    """Put these DAGs in force, with a pool that holds them all; return their version ids."""
    with engine.begin() as conn:
        conn.execute(_RAISE_POOL, {"slots": UNLIMITED})
    return {each.dag_id: seed.store(engine, each) for each in specs}


def enter_runs(conn: Connection, dags: dict[str, int], hours: Sequence[int]) -> None:
    """Create queued runs of each DAG, as a schedule does, about these hours after the first."""
    infos = [
        DagRunInfo.once_over(DataInterval(FIRST + hour * HOUR, FIRST + (hour + 1) * HOUR))
        for hour in hours
    ]
    kind = RunType.SCHEDULED
    runs.create(conn, [runs.NewRuns(dag_id, kind, dags[dag_id], infos, {}) for dag_id in dags])


def _chain(length: int) -> list[TaskSpec]:
    names = [f"task_{number:04}" for number in range(length)]
    return [task(name, *names[max(at - 1, 0) : at]) for at, name in enumerate(names)]


def _side_by_side(count: int) -> list[TaskSpec]:
    return [task(f"task_{number:04}") for number in range(count)]
