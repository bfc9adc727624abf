"""What must not cost more: tasks in a run, runs that only wait, history, tasks that are blocked."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from sqlalchemy import text

from benchmarks.support import bulk_history, server
from benchmarks.support.fleet import Fleet, fleet
from benchmarks.support.meter import Meter
from benchmarks.support.report import Row
from benchmarks.support.server import Server
from benchmarks.support.shapes import Shape, spec, store, task
from benchmarks.support.throughput import Measured, measure_runs
from benchmarks.support.turns import turns
from headway.db.access.logins import Login
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec

NAME: Final = "growth"
SIZES: Final = {100: 9, 1_000: 5, 10_000: 3, 100_000: 3}
WAITING: Final = 10_000
IDLE_SECONDS: Final = 20
HISTORY: Final = 3_000_000
BLOCKED: Final = 5_000
REPEAT: Final = 7

SOME_WORK: Final = Shape("some work", 10, 30, 10)
RUNS_BESIDE: Final = 300

COSTS: Final[dict[str, Callable[[Measured], float]]] = {
    "time": lambda each: each.seconds,
    "CPU": lambda each: each.spent.cpu + each.spent.server_cpu,
}

_SET_POOL: Final = text("""
    INSERT INTO pool (name, slots) VALUES (:name, :slots)
        ON CONFLICT (name) DO UPDATE SET slots = excluded.slots
""")


def run() -> Iterator[Row]:
    """Measure what is to stay as it is while something else grows."""
    with server.running() as postgres:
        yield from _sizes(postgres)
        yield from _waiting(postgres)
        yield from _blocked(postgres)
        yield from _history(postgres)


def _sizes(postgres: Server) -> Iterator[Row]:
    """Cost per task of a run with a fan-out and a fan-in, by the number of mapped instances."""
    walls: list[float] = []
    cpus: list[float] = []
    for size, repeat in SIZES.items():
        with postgres.database("mapped") as database, fleet(database) as services:
            dags = store(database.owner, [_mapped(size)])
            services.add_scheduler()
            measured = [
                measure_runs(services, dags, range(hour, hour + 1), size + 2)
                for hour in range(repeat)
            ]
        case = f"mapped run of {size:,} instances"
        wall = [1e3 * each.seconds / size for each in measured]
        cpu = [1e3 * (each.spent.cpu + each.spent.server_cpu) / size for each in measured]
        yield Row.of(NAME, case, "time per task", wall, "ms")
        yield Row.of(NAME, case, "CPU per task, scheduler and its backends", cpu, "ms")
        if walls:
            yield _at_most_twice(case, wall, min(walls), "time per task, against smaller runs")
            yield _at_most_twice(case, cpu, min(cpus), "CPU per task, against smaller runs")
        walls.append(median(wall))
        cpus.append(median(cpu))


def _at_most_twice(case: str, values: list[float], least: float, metric: str) -> Row:
    return Row.at_most(NAME, case, [value / least for value in values], "", 2, metric)


def _mapped(size: int) -> DagSpec:
    over = (MapInput(argument="number", length=size),)
    return spec(
        "mapped",
        [task("first"), replace(task("each", "first"), mapped_over=over), task("last", "each")],
    )


def _waiting(postgres: Server) -> Iterator[Row]:
    """What an idle scheduler costs, and what work costs, by the number of active runs that wait."""
    with postgres.database("waiting") as database, fleet(database) as services:
        dags = store(database.owner, [spec("waiting", [task("it")])])
        services.add_scheduler()
        yield from _idle(services, "no active run")
        alone = _measure_shape(services, dags, Shape("", 1, RUNS_BESIDE, 1))
        half = WAITING // 2
        bulk_history.add_runs(database.owner, "waiting", {"running": half, "up_for_retry": half})
        case = f"{WAITING:,} active runs with nothing to do"
        yield from _idle(services, case)
        beside = _measure_shape(services, dags, Shape("", 1, RUNS_BESIDE, 1), 10_000)
    for metric, cost in COSTS.items():
        values = _against(cost, alone, beside)
        yield Row.of(NAME, case, f"{metric} of {RUNS_BESIDE} more runs, against none", values, "")


def _idle(services: Fleet, case: str) -> Iterator[Row]:
    time.sleep(5)
    database = services.database
    meter = Meter(database.owner, database.postmaster, Login.SCHEDULER, services.pids)
    meter.start()
    time.sleep(IDLE_SECONDS)
    spent = meter.read()
    share = 100 / IDLE_SECONDS
    yield Row.at_most(NAME, case, [spent.cpu * share], "% of a core", 1, "idle scheduler CPU")
    rate = [spent.statements / IDLE_SECONDS]
    yield Row.at_most(NAME, case, rate, "/s", 5, "idle statements")
    yield Row.of(NAME, case, "idle BEGIN and COMMIT", [spent.frames / IDLE_SECONDS], "/s")
    yield Row.of(NAME, case, "CPU of its idle backends", [spent.server_cpu * share], "% of a core")


@dataclass(frozen=True, slots=True)
class Obstacle:
    """What holds tasks up: the DAG of those that are blocked, and the pools it needs."""

    name: str
    blocked: DagSpec
    states: dict[str, int]
    pools: dict[str, int]
    pool: str = "default_pool"


def _obstacles() -> list[Obstacle]:
    held = {"running": 1, "scheduled": BLOCKED}
    it = task("it")

    def dag(task: TaskSpec, max_active_tasks: int = 1_000_000) -> DagSpec:
        return replace(spec("blocked", [task]), max_active_tasks=max_active_tasks)

    return [
        Obstacle("nothing", dag(it), {}, {}),
        Obstacle("the limit of their DAG", dag(it, 1), held, {}),
        Obstacle("the limit of their task", dag(replace(it, max_active_tis_per_dag=1)), held, {}),
        Obstacle("a full pool", dag(replace(it, pool="small")), held, {"small": 1}),
        Obstacle(
            "too few slots for them in the pool",
            dag(replace(it, pool="small", pool_slots=2)),
            held,
            {"small": 3},
            pool="small",
        ),
    ]


def _blocked(postgres: Server) -> Iterator[Row]:
    """How soon a task starts that is behind many which cannot."""
    for obstacle in _obstacles():
        with postgres.database("blocked") as database, fleet(database) as services:
            free = spec("free", [replace(task("it"), pool=obstacle.pool)])
            dags = store(database.owner, [obstacle.blocked, free])
            with database.owner.begin() as conn:
                for name, slots in obstacle.pools.items():
                    conn.execute(_SET_POOL, {"name": name, "slots": slots})
            services.add_scheduler()
            if obstacle.states:
                bulk_history.add_runs(database.owner, "blocked", obstacle.states)
            waits = [_wait(services, dags["free"], hour) for hour in turns(REPEAT)]
        number = f"{BLOCKED:,}" if obstacle.states else "0"
        case = f"behind {number} blocked by {obstacle.name}"
        yield Row.at_most(NAME, case, waits, "ms", 50, "from the run's entry to its task's start")


def _wait(services: Fleet, version_id: int, hour: int) -> float:
    time.sleep(0.2)
    measured = measure_runs(services, {"free": version_id}, range(hour, hour + 1), 1)
    return 1e3 * measured.first_start


def _history(postgres: Server) -> Iterator[Row]:
    """What the same work costs, by how much has been done before."""
    with postgres.database("history") as database, fleet(database) as services:
        dags = store(database.owner, SOME_WORK.specs())
        services.add_scheduler()
        before = _measure_shape(services, dags, SOME_WORK)
        bulk_history.add_history(database.owner, HISTORY // SOME_WORK.dags // SOME_WORK.tasks)
        time.sleep(2)
        after = _measure_shape(services, dags, SOME_WORK, 1000)
    case = f"{HISTORY:,} finished task instances"
    for metric, cost in COSTS.items():
        values = _against(cost, before, after)
        yield Row.at_most(NAME, case, values, "", 1.2, f"{metric} of the same work, against none")


def _measure_shape(
    services: Fleet, dags: dict[str, int], shape: Shape, first_hour: int = 0
) -> list[Measured]:
    """Return what runs of the shape cost, without the first measurement."""
    firsts = range(first_hour, first_hour + shape.runs * (REPEAT + 1), shape.runs)
    hours = [range(first, first + shape.runs) for first in firsts]
    return [measure_runs(services, dags, each, shape.instances) for each in hours][1:]


def _against(
    cost: Callable[[Measured], float], before: list[Measured], after: list[Measured]
) -> list[float]:
    least = median(cost(each) for each in before)
    return [cost(each) / least for each in after]
