"""The hop: how long after a task's end its successor starts, in a chain of 20 tasks."""

from collections.abc import Iterator, Mapping
from statistics import median, quantiles
from typing import Final

from sqlalchemy import Connection, text

from benchmarks.support import server
from benchmarks.support.fleet import fleet
from benchmarks.support.report import Row
from benchmarks.support.server import Server
from benchmarks.support.shapes import Shape, store
from benchmarks.support.throughput import measure_runs
from benchmarks.support.turns import turns

NAME: Final = "chain"
REPEAT: Final = 10
CHAIN: Final = Shape("chain of 20", 1, 1, 20, chained=True)

_GAPS: Final = text("""
    SELECT extract(epoch FROM started_at - lag(ended_at) OVER (ORDER BY id))
      FROM task_instance
     WHERE dag_run_id = (SELECT max(id) FROM dag_run)
     ORDER BY id OFFSET 1
""")


def run() -> Iterator[Row]:
    """Measure the gaps with NOTIFY, and with polling alone."""
    with server.running() as postgres:
        yield from _with(postgres, "NOTIFY", {}, 15, 50)
        yield from _with(postgres, "polling alone", {"HEADWAY_DATABASE_NOTIFY": "false"})


def _with(
    postgres: Server,
    case: str,
    settings: Mapping[str, str],
    middle: float | None = None,
    late: float | None = None,
) -> Iterator[Row]:
    medians, latest, cpu = [], [], []
    with postgres.database("chain") as database, fleet(database, settings) as services:
        dags = store(database.owner, CHAIN.specs())
        services.add_scheduler()
        for hour in turns(REPEAT):
            measured = measure_runs(services, dags, range(hour, hour + 1), CHAIN.instances)
            with database.owner.connect() as conn:
                gaps = _gaps(conn)
            medians.append(median(gaps))
            latest.append(quantiles(gaps, n=20)[-1])
            cpu.append(1e3 * measured.spent.cpu / CHAIN.instances)
    yield _row(case, medians, "median gap", middle)
    yield _row(case, latest, "95th percentile of the gaps", late)
    yield Row.of(NAME, case, "scheduler CPU per task", cpu, "ms")


def _gaps(conn: Connection) -> list[float]:
    gaps = [1e3 * float(gap) for gap in conn.scalars(_GAPS)]
    assert len(gaps) == CHAIN.tasks - 1
    return gaps


def _row(case: str, values: list[float], metric: str, target: float | None) -> Row:
    if target is None:
        return Row.of(NAME, case, metric, values, "ms")
    return Row.at_most(NAME, case, values, "ms", target, metric)
