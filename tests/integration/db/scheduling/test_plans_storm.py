"""The plans of a scheduler in a storm: what waits costs nothing, only what is taken."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest
from sqlalchemy import Engine, inspect, text

from headway.db.scheduling import ready_tasks, wakes
from headway.domain.dag.spec import DEFAULT_POOL, DagSpec
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.query_plans import QueryPlan, explained
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + seed.DAY
FEW, MANY = 500, 3000
TAKEN = 100
BLOCKED = 300
HEAD = 400
"""Tasks at the head of a line that are read before DAGs are sought: more than `BLOCKED`."""

RUNS = text("SELECT id FROM dag_run WHERE state = 'running'")


def specs(first: int, last: int) -> Iterator[DagSpec]:
    """Yield daily DAGs of one task."""
    for number in range(first, last):
        yield replace(seed.dag(dag_id=f"storm_{number:05}"), end_date=seed.START)


@dataclass
class Storm:
    """As many DAGs as are wanted, all of which are due at once."""

    engine: Engine
    dags: int = 0

    def grow(self, dags: int) -> None:
        """Have so many DAGs in all."""
        seed.store_all(self.engine, [*specs(self.dags, dags)])
        self.dags = dags

    def replica(self, taken: int) -> Replica:
        """Return a scheduler that takes so many DAGs, runs or tasks at a time."""
        given = {
            "max_dagruns_to_create_per_loop": taken,
            "max_dagruns_per_loop_to_schedule": taken,
            "max_tis_per_query": taken,
        }
        read = configuration.read(SchedulerSettings, **given)
        return Replica(self.engine, seed.register(self.engine), read)


@pytest.fixture
def storm(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Storm:
    """A database in which nothing gathers statistics by itself: plans are the same each time."""
    with engine.begin() as conn:
        for table in inspect(conn).get_table_names():
            conn.execute(text(f"ALTER TABLE {table} SET (autovacuum_enabled = off)"))
    monkeypatch.setattr(ready_tasks, "LOOK", HEAD)
    seed.make_pool(engine, DEFAULT_POOL, 1_000_000)
    seed.register(engine, "worker")
    return Storm(engine)


def plan_all(storm: Storm) -> None:
    """Create the runs of all DAGs that are due."""
    replica = storm.replica(1000)
    while create_runs(replica, NOW):
        pass


def start_all(storm: Storm) -> None:
    """Create and start the runs of all DAGs that are due."""
    plan_all(storm)
    replica = storm.replica(1000)
    while start_runs(replica, NOW):
        pass


def wake_all(storm: Storm) -> None:
    """Have all runs started, and something changed in each."""
    start_all(storm)
    with storm.engine.begin() as conn:
        wakes.add(conn, list(conn.scalars(RUNS)))


def start_behind_a_full_dag(storm: Storm) -> None:
    """Have all runs started, behind many tasks of a DAG that has a place for one."""
    full = [replace(task, priority_weight=99) for task in seed.wide(BLOCKED, "full").tasks]
    if storm.dags == FEW:
        spec = replace(seed.dag(*full, dag_id="full"), max_active_tasks=1)
        seed.scheduled(storm.engine, spec)
        assert queue(storm.replica(1)) == 1
    start_all(storm)


def start_behind_a_narrow_dag(storm: Storm) -> None:
    """Have all runs started, behind many tasks of a DAG that has one place, and it is free."""
    if storm.dags == FEW:
        tasks = [replace(task, priority_weight=99) for task in seed.wide(BLOCKED, "narrow").tasks]
        spec = replace(seed.dag(*tasks, dag_id="narrow"), max_active_tasks=1)
        seed.scheduled(storm.engine, spec)
    start_all(storm)


def start_behind_another_queue(storm: Storm) -> None:
    """Have all runs started, behind many tasks of a queue of which each worker has enough."""
    if storm.dags == FEW:
        tasks = [
            replace(task, priority_weight=99, queue="other")
            for task in seed.wide(2 * HEAD, "elsewhere").tasks
        ]
        seed.scheduled(storm.engine, seed.dag(*tasks, dag_id="elsewhere"))
    start_all(storm)


def let_end(storm: Storm) -> None:
    """End what is queued: it is live, and is counted, but does not wait."""
    worker = seed.register(storm.engine, "worker")
    claimed = seed.claim(storm.engine, worker, limit=TAKEN + 1)
    seed.report(storm.engine, [attempt.key for attempt in claimed if attempt.dag_id != "full"])


def nothing(_storm: Storm) -> None:
    """Leave new DAGs as they are: they wait for their next run to be computed."""


def computed(storm: Storm) -> None:
    """Have the next run of each DAG computed, and due since."""
    replica = storm.replica(1000)
    while create_runs(replica, seed.START):
        pass


def create(replica: Replica) -> int:
    return create_runs(replica, NOW)


def start(replica: Replica) -> int:
    return start_runs(replica, NOW)


def settle(replica: Replica) -> int:
    return schedule_tasks(replica, NOW).runs


def queue(replica: Replica) -> int:
    return len(queue_tasks(replica, DEFAULT_POOL, NOW).task_ids)


def measured(storm: Storm, work: Callable[[Replica], int]) -> dict[tuple[str, bool], int]:
    """Return how many rows each statement looks at where so much is taken once."""
    replica = storm.replica(TAKEN)
    with explained(storm.engine) as plans:
        assert work(replica) == TAKEN
    return _rows(plans)


def _rows(plans: list[QueryPlan]) -> dict[tuple[str, bool], int]:
    names = {(plan.statement, plan.kept) for plan in plans}
    return {
        name: max(plan.rows for plan in plans if (plan.statement, plan.kept) == name)
        for name in names
    }


@pytest.mark.regression
@pytest.mark.parametrize(
    ("waiting", "work", "statement"),
    [
        (nothing, create, "dags.LOCK_DUE"),
        (computed, create, "dags.LOCK_DUE"),
        (plan_all, start, "queued_runs.LOCK_STARTING"),
        (start_all, queue, "ready_tasks.PLAIN"),
        (start_behind_a_full_dag, queue, "ready_tasks.PLAIN"),
        (start_behind_a_narrow_dag, queue, "ready_tasks.PLAIN"),
        (start_behind_another_queue, queue, "ready_tasks.PLAIN"),
        (wake_all, settle, "run_snapshots.LOCK_WOKEN"),
    ],
    ids=[
        *("changed", "due", "queued-runs", "scheduled-tasks", "behind-a-full-dag"),
        *("behind-a-narrow-dag", "behind-another-queue", "woken-runs"),
    ],
)
def test_what_waits_costs_no_statement_more_than_what_is_taken(
    storm: Storm,
    waiting: Callable[[Storm], None],
    work: Callable[[Replica], int],
    statement: str,
) -> None:
    """Ten times as much waits, and as much is taken: no statement looks at more rows."""
    storm.grow(FEW)
    waiting(storm)
    few = measured(storm, work)
    let_end(storm)
    storm.grow(MANY)
    waiting(storm)
    many = measured(storm, work)

    assert {name for name, _ in many} >= {statement}
    assert {
        name: (few[name], rows) for name, rows in many.items() if rows > 1.5 * few[name] + TAKEN
    } == {}
