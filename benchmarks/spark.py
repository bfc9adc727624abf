"""Spark: small tasks on the worker's warm server, cancelling, progress.  Two cores, one worker."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from sqlalchemy import Engine, text

from benchmarks.footprint import standalone
from benchmarks.support.report import Row
from benchmarks.support.turns import turns
from headway.actions.change import Author
from headway.actions.runs.cancel import cancel_tasks
from headway.actions.runs.trigger import TriggerRequest, trigger
from headway.actions.transaction import TOLD
from headway.db.core import engine as engines
from headway.db.core import notices
from headway.db.reads import dag_views, run_views, task_views
from headway.db.reads.run_views import RunView
from headway.db.reads.task_views import AttemptView
from headway.runtime.daemon.clock import SystemClock

NAME: Final = "spark"
REPEAT: Final = 3
SMALL: Final = 50
ALONE: Final = 10
LONGEST: Final = 300.0

DAGS: Final = f"""
import time
from headway.sdk import DAG, task

@task.pyspark
def small(spark):
    began = time.monotonic()
    spark.range(1000).count()
    return time.monotonic() - began

@task.pyspark
def chained(spark, after):
    return small.function(spark)

@task.pyspark
def endless(spark):
    spark.range(0, 10**12, 1, 20_000).selectExpr("sum(id % 7)").collect()

with DAG("many", schedule=None):
    for number in range({SMALL}):
        small.override(task_id=f"small_{{number}}")()

with DAG("chain", schedule=None):
    done = small()
    for number in range({ALONE - 1}):
        done = chained.override(task_id=f"small_{{number}}")(after=done)

with DAG("long", schedule=None):
    endless()
"""


def run() -> Iterator[Row]:
    """Measure the targets of Spark."""
    with _services() as services:
        services.finish("chain")  # starts Spark, and lets its Java warm up
        overheads, seconds = [], []
        for _ in turns(REPEAT):
            overheads += services.overheads("chain")
            seconds.append(services.finish("many"))
        yield Row.at_most(NAME, "small task, warm", overheads, "s", 0.4, "overhead")
        yield Row.at_most(NAME, f"{SMALL} small tasks, one worker", seconds, "s", 20)
        stopped = [services.stop() for _ in turns(REPEAT)]
        ended = [seconds for seconds, _ in stopped]
        yield Row.at_most(NAME, "cancel to job gone, verified", ended, "s", 1)
        gaps = [gap for _, found in stopped for gap in found]
        yield Row.at_most(NAME, "progress", gaps, "s", 1, "between two that are saved")


@dataclass(frozen=True, slots=True)
class _Services:
    engine: Engine

    def trigger(self, dag_id: str) -> str:
        with self.engine.begin() as conn:
            return str(trigger(conn, TriggerRequest(dag_id, {}), SystemClock().now(), "bench"))

    def finish(self, dag_id: str) -> float:
        """Run a DAG; return the seconds from the trigger to the end of its last task."""
        run_id = self.trigger(dag_id)
        row = self.wait_for_end(dag_id, run_id)
        with self.engine.connect() as conn:
            tasks = task_views.tasks(conn, dag_id, run_id)
        assert {task.state for task in tasks} == {"success"}, tasks
        ended = max(task.ended_at for task in tasks)
        return float((ended - row.run_after).total_seconds())

    def overheads(self, dag_id: str) -> list[float]:
        """Run a chain; return what each task took besides what its function did."""
        run_id = self.trigger(dag_id)
        self.wait_for_end(dag_id, run_id)
        with self.engine.connect() as conn:
            spent = conn.execute(_SPENT, {"dag_id": dag_id, "run_id": run_id}).all()
        assert len(spent) == ALONE
        return [float(row.seconds) - float(row.own) for row in spent]

    def stop(self) -> tuple[float, list[float]]:
        """Cancel a task that runs in Spark.

        Return the seconds until its attempt has ended, which is when the server has confirmed
        it, and those between two times at which its progress was saved.
        """
        run_id = self.trigger("long")
        saved = self._watch_progress(run_id, 8)
        began = time.monotonic()
        with self.engine.begin() as conn:
            cancel_tasks(conn, ("long", run_id), ["endless"], None, Author("bench", None))
        notices.tell(self.engine, TOLD)  # as `headway tasks cancel` does
        while not self._attempt(run_id).ended_at:
            time.sleep(0.01)
        ended = time.monotonic() - began
        assert self._attempt(run_id).outcome == "cancelled"
        return ended, [float((after - before).total_seconds()) for before, after in pairwise(saved)]

    def wait_for_end(self, dag_id: str, run_id: str) -> RunView:
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            with self.engine.connect() as conn:
                run = run_views.run(conn, dag_id, run_id)
            if run is not None and run.ended:
                return run
            time.sleep(0.05)
        raise TimeoutError(f"{dag_id} has not ended in {LONGEST:g} s")

    def _watch_progress(self, run_id: str, times: int) -> list[Any]:
        found: list[Any] = []
        deadline = time.monotonic() + LONGEST
        while len(found) < times and time.monotonic() < deadline:
            with self.engine.connect() as conn:
                at = conn.scalar(_SAVED, {"run_id": run_id})
            if at is not None and at not in found:
                found.append(at)
            time.sleep(0.02)
        return found

    def _attempt(self, run_id: str) -> AttemptView:
        with self.engine.connect() as conn:
            (row,) = task_views.attempts(conn, "long", run_id)
        return row


_SPENT: Final = text("""
    SELECT extract(epoch FROM it.ended_at - it.started_at) AS seconds,
           CAST(CAST(xcom.value AS text) AS float8) AS own
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      JOIN xcom ON xcom.task_instance_id = it.task_instance_id AND xcom.attempt = it.attempt
               AND xcom.key = 'return_value'
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
""")

_SAVED: Final = text("""
    SELECT work.updated_at
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN spark_work AS work ON work.task_instance_id = task.id
     WHERE run.run_id = :run_id
""")


@contextmanager
def _services() -> Iterator[_Services]:
    with standalone(DAGS) as (_, url):
        engine = engines.connect(url, pool_size=2)
        _wait_for_dags(engine)
        yield _Services(engine)
        engine.dispose()


def _wait_for_dags(engine: Engine) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with engine.connect() as conn:
            if {row.dag_id for row in dag_views.dags(conn)} >= {"many", "chain", "long"}:
                return
        time.sleep(0.05)
    raise TimeoutError("the DAGs were not parsed within a minute")
