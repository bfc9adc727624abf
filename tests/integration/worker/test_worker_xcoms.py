"""What a worker reads for its attempts of what other tasks of their run have left."""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import Engine, text

from headway.db.execution import xcoms
from headway.db.scheduling import tasks
from headway.domain.dag.spec import MapInput
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import seed
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase


def test_instances_of_a_mapped_task_are_read_one_by_one_and_all_together(
    engine: Engine, tmp_path: Path
) -> None:
    of_three = MapInput(argument="x", length=3)
    run = seed.start_run(engine, seed.dag(replace(seed.task("m"), mapped_over=(of_three,))))
    found = text("SELECT id FROM task_instance WHERE dag_run_id = :run")
    me = seed.register(engine, "worker")
    with engine.begin() as conn:
        tasks.expand(conn, {conn.scalar(found, {"run": run}): 3}, seed.START, seed.AGING)
        tasks.queue(conn, list(conn.scalars(found, {"run": run})), seed.START, seed.SCHEDULER)
    claimed = sorted(seed.claim(engine, me), key=lambda it: it.map_index)
    with engine.begin() as conn:
        for it in claimed:
            xcoms.push(conn, it.key, "rows", it.map_index * 10)
    seed.report(engine, [it.key for it in claimed])
    database = WorkerDatabase(engine, me, configuration.read(WorkerSettings), CodeCache(tmp_path))

    assert database.pull_xcom(claimed[0], "m", "rows", 2) == (20,)
    assert database.pull_xcom(claimed[0], "m", "cells", 2) is None
    assert database.pull_xcoms(claimed[0], "m", "rows", -1) == {0: 0, 1: 10, 2: 20}
    assert database.pull_xcoms(claimed[0], "m", "rows", 1) == {2: 20}
    assert database.pull_xcoms(claimed[0], "m", "cells", -1) == {}
