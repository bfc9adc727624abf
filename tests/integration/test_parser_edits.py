"""No edit of a DAG file is missed, whenever it comes."""

from pathlib import Path

from sqlalchemy import Connection, Engine, event

from headway.db import processes, views
from headway.runtime import settings
from headway.runtime.clock import SystemClock
from headway.runtime.forker import Forker
from headway.runtime.scrub import scrubbed_environment
from headway_parser.manager import DagFileProcessorManager

PATIENCE = 30.0


def dag_ids(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return [row["dag_id"] for row in views.dags(conn)]


def test_an_edit_while_the_file_s_dags_are_committed_is_seen(
    engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "edited.py"
    file.write_text("from headway.sdk import DAG\nDAG('before')\n")
    with engine.begin() as conn:
        me = processes.register(conn, "parser", ("test", 1), "0")
    manager = DagFileProcessorManager(
        engine,
        me,
        settings.read(settings.ParserSettings, dags=tmp_path, dag_dir_list_interval=0.05),
        SystemClock(),
        lambda: Forker.start(
            ("headway_parser.child",), scrubbed_environment(settings.environment())
        ),
    )

    @event.listens_for(engine, "commit")
    def edit(conn: Connection) -> None:
        if views.dags(conn, "before") and "before" in file.read_text():
            file.write_text("from headway.sdk import DAG\nDAG('edited_afterwards')\n")

    clock = SystemClock()
    deadline = clock.monotonic() + PATIENCE
    try:
        while dag_ids(engine) != ["edited_afterwards"] and clock.monotonic() < deadline:
            manager.step()
    finally:
        manager.close()

    assert dag_ids(engine) == ["edited_afterwards"]
