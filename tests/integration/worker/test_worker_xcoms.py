"""What a worker reads for its attempts of what other tasks of their run have left."""

from pathlib import Path

from sqlalchemy import Engine

from headway.db.execution import xcoms
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import seed
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase


def test_instances_of_a_mapped_task_are_read_one_by_one_and_all_together(
    engine: Engine, tmp_path: Path
) -> None:
    me = seed.register(engine, "worker")
    claimed = seed.run_mapped(engine, me, 3)
    with engine.begin() as conn:
        for attempt in claimed:
            xcoms.push(conn, attempt.key, "rows", attempt.map_index * 10)
    seed.report(engine, [attempt.key for attempt in claimed])
    database = WorkerDatabase(engine, me, configuration.read(WorkerSettings), CodeCache(tmp_path))

    assert database.pull_xcom(claimed[0], "m", "rows", 2) == (20,)
    assert database.pull_xcom(claimed[0], "m", "cells", 2) is None
    assert database.pull_xcoms(claimed[0], "m", "rows", -1) == {0: 0, 1: 10, 2: 20}
    assert database.pull_xcoms(claimed[0], "m", "rows", 1) == {2: 20}
    assert database.pull_xcoms(claimed[0], "m", "cells", -1) == {}
