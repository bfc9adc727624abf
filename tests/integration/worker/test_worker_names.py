"""What a task instance is called, as its attempt tells the worker."""

from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from headway.db.reads import task_views
from headway.db.scheduling import tasks
from headway.domain.errors import ConflictError
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import seed
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase


@pytest.fixture
def worker(engine: Engine, tmp_path: Path) -> WorkerDatabase:
    settings = configuration.read(WorkerSettings)
    me = seed.register(engine, "worker")
    return WorkerDatabase(engine, me, settings, CodeCache(tmp_path))


def names(engine: Engine) -> list[str | None]:
    with engine.connect() as conn:
        run_id = conn.execute(text("SELECT run_id FROM dag_run")).scalar_one()
        found = task_views.tasks(conn, "etl", run_id)
    return [it.rendered_map_index for it in sorted(found, key=lambda it: it.map_index)]


def test_an_attempt_names_its_instance_and_no_other(engine: Engine, worker: WorkerDatabase) -> None:
    claimed = seed.run_mapped(engine, worker.me, 3)

    worker.name_instance(claimed[1], "early")
    worker.name_instance(claimed[1], "UA")

    assert names(engine) == [None, "UA", None]


def test_an_attempt_that_has_ended_names_nothing(engine: Engine, worker: WorkerDatabase) -> None:
    claimed = seed.run_mapped(engine, worker.me, 2)
    seed.report(engine, [claimed[0].key])

    with pytest.raises(ConflictError, match="was given away"):
        worker.name_instance(claimed[0], "UA")

    assert names(engine) == [None, None]


def test_an_instance_that_is_made_anew_has_no_name(engine: Engine, worker: WorkerDatabase) -> None:
    claimed = seed.run_mapped(engine, worker.me, 1)
    worker.name_instance(claimed[0], "UA")
    seed.report(engine, [claimed[0].key])
    back = text("""
        WITH told AS (SELECT set_config('headway.actor', 'user:test', true))
        UPDATE task_instance SET state = 'none', map_index = -1, ended_at = NULL FROM told
    """)
    with engine.begin() as conn:
        conn.execute(back)
    assert names(engine) == ["UA"]

    with engine.begin() as conn:
        tasks.expand(conn, {claimed[0].key.task_instance_id: 2}, seed.START, seed.AGING)

    assert names(engine) == [None, None]
