"""Real tasks end to end: the gap in a chain, tasks a second, the CPU that a task costs."""

from collections.abc import Iterator
from statistics import median, quantiles
from typing import Final

from sqlalchemy import text

from benchmarks.support import fork_floor, server
from benchmarks.support.real_services import RealServices, real_services
from benchmarks.support.report import Row
from benchmarks.support.turns import turns

NAME: Final = "tasks"
REPEAT: Final = 5
LONG: Final = 20
WIDE: Final = 200

HEAD: Final = """
import pendulum
from headway.sdk import DAG, chain, task

with DAG("{dag_id}", schedule=None, start_date=pendulum.datetime(2024, 1, 1, tz="UTC"),
         max_active_tasks=1000):
    @task
    def nothing(number=0):
        pass
"""

CHAINED: Final = "chained"
MAPPED: Final = "mapped"
NAMED: Final = "named"
DAGS: Final = {
    CHAINED: f"    chain(*(nothing.override(task_id=f't_{{n}}')() for n in range({LONG})))\n",
    MAPPED: f"    nothing.expand(number=list(range({WIDE})))\n",
    NAMED: f"    for n in range({WIDE}):\n        nothing.override(task_id=f't_{{n}}')()\n",
}

_GAPS: Final = text("""
    SELECT extract(epoch FROM started_at - lag(ended_at) OVER (ORDER BY ended_at))
      FROM task_instance
     WHERE dag_run_id = (SELECT max(id) FROM dag_run)
     ORDER BY ended_at OFFSET 1
""")

# From the run's entry, so that nothing of what comes before the first task is left out.
_SECONDS: Final = text("""
    SELECT extract(epoch FROM run.ended_at - run.created_at) AS whole,
           (SELECT count(*) FROM task_instance
             WHERE dag_run_id = run.id AND state = 'success') AS succeeded
      FROM dag_run AS run
     WHERE run.id = (SELECT max(id) FROM dag_run)
""")


def run() -> Iterator[Row]:
    """Measure section 3 of the targets."""
    with (
        server.running() as postgres,
        postgres.database(NAME) as database,
        real_services(database) as services,
    ):
        for dag_id, body in DAGS.items():
            (services.files / f"{dag_id}.py").write_text(HEAD.format(dag_id=dag_id) + body)
        for service in ("parser", "scheduler", "worker"):
            services.start(service)
        services.settle(len(DAGS))
        for dag_id in DAGS:
            services.run(dag_id, f"{dag_id}_first")  # the code is fetched, the statements prepared
        yield from _chain(services)
        yield from _parallel(services, MAPPED, f"{WIDE} instances of a mapped task")
        yield from _parallel(services, NAMED, f"{WIDE} tasks of one DAG file")


def _chain(services: RealServices) -> Iterator[Row]:
    middles, late, costs = [], [], []
    for number in turns(REPEAT):
        before = services.cpu()
        services.run(CHAINED, f"{CHAINED}_{number}")
        costs.append(_cost(before, services.cpu(), LONG))
        with services.database.owner.connect() as conn:
            gaps = [1e3 * float(gap) for gap in conn.scalars(_GAPS)]
        middles.append(median(gaps))
        late.append(quantiles(gaps, n=20)[-1])
    case = f"chain of {LONG}"
    yield Row.at_most(NAME, case, middles, "ms", 15, metric="median gap")
    yield Row.at_most(NAME, case, late, "ms", 50, metric="95th percentile of the gaps")
    yield from _costs(case, costs)


def _parallel(services: RealServices, dag_id: str, case: str) -> Iterator[Row]:
    rates, costs, forks, ratios = [], [], [], []
    for number in turns(REPEAT):
        before = services.cpu()
        services.run(dag_id, f"{dag_id}_{number}")
        costs.append(_cost(before, services.cpu(), WIDE))
        rates.append(WIDE / _seconds(services))
        forks.append(fork_floor.measure())
        ratios.append(rates[-1] / forks[-1])
    metric = "from the run's entry to its end"
    yield Row.of(NAME, case, metric, rates, "tasks/s", better="higher")
    yield from _costs(case, costs)
    yield Row.of(NAME, case, "forking alone", forks, "forks/s", better="")
    yield Row.of(NAME, case, "against forking alone", ratios, "", better="higher")


def _seconds(services: RealServices) -> float:
    with services.database.owner.connect() as conn:
        row = conn.execute(_SECONDS).one()
    if row.succeeded != WIDE:
        raise RuntimeError(f"{row.succeeded} of {WIDE} tasks succeeded")
    return float(row.whole)


def _cost(before: dict[str, float], after: dict[str, float], tasks: int) -> dict[str, float]:
    """Return the milliseconds of CPU that each service has used for a task."""
    return {name: 1e3 * (after[name] - before[name]) / tasks for name in after}


def _costs(case: str, costs: list[dict[str, float]]) -> Iterator[Row]:
    whole = [sum(cost.values()) for cost in costs]
    yield Row.at_most(NAME, case, whole, "ms", 10, metric="CPU per task, all processes")
    for name in costs[0]:
        yield Row.of(NAME, case, f"of that, {name}", [cost[name] for cost in costs], "ms")
