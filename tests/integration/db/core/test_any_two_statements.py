"""Another scheduler does the same pass between any two statements of this one's: limits hold.

The interleavings that matter are written down one by one elsewhere.  These are all of them,
also those that a pass gets when it is written differently one day.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import pytest
from sqlalchemy import Engine, TextClause, text

from headway.db.core import engine as engines
from headway.db.users import backfill_plans
from headway.db.users.backfill_plans import NewBackfill
from headway.domain.dag.spec import DEFAULT_POOL, DagSpec, MapInput
from headway.testing.data import seed
from headway.testing.database.interleaving import at_statement
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica
from headway_scheduler.replica.specs import Specs

NOW = seed.START + 3 * seed.DAY
SMALL = "small"
MOST = 3
MANY_STATEMENTS = 40

FORGET = text("TRUNCATE dag, backfill, wake CASCADE")
QUEUED = text("SELECT count(*) FROM task_instance WHERE state = 'queued'")
RUNNING = text("SELECT count(*) FROM dag_run WHERE state = 'running'")
CREATED = text("SELECT count(*) FROM dag_run")


@dataclass(frozen=True, slots=True)
class Case:
    """What is there to do, how two schedulers do it, and what may not come to more than three."""

    prepare: Callable[[Engine, Replica], object]
    mine: Callable[[Replica], object]
    others: Callable[[Replica], object]
    count: TextClause


def queue(pool: str) -> Callable[[Replica], object]:
    return lambda replica: queue_tasks(replica, pool, NOW)


def create(replica: Replica) -> object:
    return create_runs(replica, NOW + 5 * seed.DAY)


def start(replica: Replica) -> object:
    return start_runs(replica, NOW)


def halves(spec: DagSpec) -> DagSpec:
    """Return the DAG with every other task in the small pool."""
    tasks = [
        replace(task, pool=SMALL) if number % 2 else task for number, task in enumerate(spec.tasks)
    ]
    return replace(spec, tasks=tuple(tasks))


def full_pool(engine: Engine, _replica: Replica) -> None:
    seed.scheduled(engine, seed.in_pool(seed.wide(5), SMALL))
    seed.scheduled(engine, seed.in_pool(seed.wide(5, "other"), SMALL))


def full_dag(engine: Engine, _replica: Replica) -> None:
    seed.scheduled(engine, replace(halves(seed.wide(10)), max_active_tasks=MOST))


def full_run(engine: Engine, _replica: Replica) -> None:
    seed.scheduled(engine, replace(halves(seed.wide(10)), max_active_tasks_per_dagrun=MOST))


def full_task(engine: Engine, _replica: Replica) -> None:
    spec = seed.dag(replace(seed.task("work"), max_active_tis_per_dag=MOST))
    for day in range(6):
        seed.scheduled(engine, seed.in_pool(spec, SMALL if day % 2 else DEFAULT_POOL), day)


def full_task_in_run(engine: Engine, replica: Replica) -> None:
    over = (MapInput(argument="n", length=8),)
    task = replace(seed.task("work"), mapped_over=over, max_active_tis_per_dagrun=MOST)
    seed.start_run(engine, seed.dag(task))
    schedule_tasks(replica, seed.START)
    with engine.begin() as conn:
        conn.execute(text("UPDATE task_instance SET pool = 'small' WHERE map_index % 2 = 1"))


def runs_to_create(engine: Engine, _replica: Replica) -> None:
    seed.store(engine, replace(seed.dag(), max_active_runs=MOST))


def runs_to_start(engine: Engine, _replica: Replica) -> None:
    version = seed.store(engine, replace(seed.dag(), max_active_runs=MOST))
    seed.create_runs(engine, version, range(6))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET run_after = schedule_date - interval '9 days'"))


def runs_of_a_backfill_to_start(engine: Engine, _replica: Replica) -> None:
    version = seed.store(engine, replace(seed.dag(), max_active_runs=1))
    with engine.begin() as conn:
        backfill = backfill_plans.create(conn, NewBackfill("etl", seed.START, NOW, MOST))
    seed.create_runs(engine, version, range(6), backfill)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag_run SET run_after = schedule_date - interval '9 days'"))


CASES = {
    "pool": Case(full_pool, queue(SMALL), queue(SMALL), QUEUED),
    "dag": Case(full_dag, queue(SMALL), queue(DEFAULT_POOL), QUEUED),
    "run": Case(full_run, queue(SMALL), queue(DEFAULT_POOL), QUEUED),
    "task": Case(full_task, queue(SMALL), queue(DEFAULT_POOL), QUEUED),
    "task in run": Case(full_task_in_run, queue(SMALL), queue(DEFAULT_POOL), QUEUED),
    "create": Case(runs_to_create, create, create, CREATED),
    "start": Case(runs_to_start, start, start, RUNNING),
    "backfill": Case(runs_of_a_backfill_to_start, start, start, RUNNING),
}


@pytest.fixture
def other(database_url: str, new_replica: Callable[..., Replica]) -> Iterator[Replica]:
    """A scheduler with connections of its own."""
    engine = engines.connect(database_url, name="test")
    yield replace(new_replica(), engine=engine)
    engine.dispose()


@pytest.mark.parametrize("name", CASES)
def test_no_limit_is_passed(engine: Engine, replica: Replica, other: Replica, name: str) -> None:
    case = CASES[name]
    seed.register(engine, "worker")
    seed.make_pool(engine, SMALL, MOST)

    for number in range(1, MANY_STATEMENTS):
        with engine.begin() as conn:
            conn.execute(FORGET)
        case.prepare(engine, replica)
        afresh = replace(replica, specs=Specs())
        with at_statement(engine, number, partial(case.others, other)) as happened:
            case.mine(afresh)
        if not happened:
            break
        assert counted(engine, case) <= MOST, f"before statement {number}"
        for each in (case.mine, case.others):
            each(other)
        assert counted(engine, case) == MOST, f"before statement {number}"

    assert 6 < number < MANY_STATEMENTS


def counted(engine: Engine, case: Case) -> int:
    with engine.connect() as conn:
        return int(conn.execute(case.count).scalar_one())
