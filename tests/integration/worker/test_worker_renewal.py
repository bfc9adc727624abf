"""What a worker says of itself with each renewal."""

from pathlib import Path

from sqlalchemy import Engine, Row, text

from headway.db.core import processes
from headway.runtime.settings import configuration
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.database.code import CodeCache
from headway_worker.database.worker_database import WorkerDatabase

ROW = text("SELECT drain_requested_at, CAST(xmin AS text) AS version FROM process WHERE id = :id")


def test_that_it_drains_is_written_once(engine: Engine, tmp_path: Path) -> None:
    with engine.begin() as conn:
        me = processes.register(conn, "worker", ("here", 1), "1", ["default"], 1)
    database = WorkerDatabase(engine, me, configuration.read(WorkerSettings), CodeCache(tmp_path))

    def renewed() -> Row[tuple[object, str]]:
        drains = database.renew([]).drain
        with engine.connect() as conn:
            row = conn.execute(ROW, {"id": me.id}).one()
        assert drains is (row.drain_requested_at is not None) is database.draining
        return row

    before = renewed()
    database.draining = True
    first, second = renewed(), renewed()

    assert before.version != first.version
    assert first == second
