"""Data of the sizes that count: many DAGs, a wide grid, large graphs, a log of 100 MB."""

from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy import text

from benchmarks.support import bulk_history
from benchmarks.support.server import Database
from benchmarks.support.shapes import Shape, spec, store, task
from headway.domain.dag.spec import TaskSpec
from headway.runtime.logs.lines import LogLine, LogSource, encode
from headway.runtime.logs.paths import LogKey, logs_folder
from headway.testing.data import seed

GRID: Final = "dag_grid"
LOGGED: Final = "logged"
LOG_RUN: Final = f"scheduled__{seed.START.isoformat()}"
LOG_BYTES: Final = 100_000_000

_BACK: Final = 40
_UNGUARDED: Final = text("SET LOCAL session_replication_role = replica")
_RUN_ON: Final = text("""
    UPDATE dag_run SET state = 'running', ended_at = NULL
     WHERE id = (SELECT max(id) FROM dag_run WHERE dag_id = :dag)
""")
_CHANGE: Final = text("""
    UPDATE task_instance SET state = CASE state WHEN 'success' THEN 'failed' ELSE 'success' END
     WHERE id IN (SELECT id FROM task_instance
                   WHERE dag_run_id = (SELECT max(id) FROM dag_run WHERE dag_id = :dag)
                   ORDER BY id LIMIT 200)
""")
_FAIL: Final = text("""
    UPDATE task_instance SET state = 'failed', attempt = 3
     WHERE dag_id = :dag AND id % 97 = 0
""")


def fill_lists(database: Database, dags: int, runs: int, grid_tasks: int) -> None:
    """Enter DAGs of 10 tasks and one of many, with so many runs of each; one of these runs on."""
    store(database.owner, [*Shape("known", dags, 1, 10).specs(), spec(GRID, layered(grid_tasks))])
    bulk_history.add_history(database.owner, runs)
    with database.owner.begin() as conn:
        conn.execute(_UNGUARDED)
        conn.execute(_FAIL, {"dag": GRID})
        conn.execute(_RUN_ON, {"dag": GRID})
    bulk_history.vacuum_and_checkpoint(database.owner)


def change_cells(database: Database) -> None:
    """Change 200 cells of the last run of the DAG of many tasks."""
    with database.owner.begin() as conn:
        conn.execute(_UNGUARDED)
        conn.execute(_CHANGE, {"dag": GRID})


def layered(count: int) -> list[TaskSpec]:
    """Return tasks that wait for one to three of those shortly before them."""
    chance = Random(count)
    names = [f"task_{nth:04}" for nth in range(count)]
    found = [task(names[0])]
    for nth in range(1, count):
        near = names[max(nth - _BACK, 0) : nth]
        upstream = chance.sample(near, min(len(near), chance.choice((1, 1, 2))))
        found.append(task(names[nth], *sorted(upstream)))
    return found


def enter_graphs(database: Database, tasks: int, number: int) -> list[str]:
    """Put so many DAGs of so many tasks in force; return their names."""
    names = [f"graph_{tasks}_{nth}" for nth in range(number)]
    store(database.owner, [spec(name, layered(tasks)) for name in names])
    return names


def write_log(database: Database, home: Path) -> Path:
    """Have an attempt run that has logged 100 MB; return its file."""
    seed.running(database.owner, seed.dag(dag_id=LOGGED))
    path = logs_folder(home) / LogKey(LOGGED, LOG_RUN, "work", -1, 1).relative
    path.parent.mkdir(parents=True)
    piece = b"".join(log_line(f"row {nth} of a partition, with some text") for nth in range(1_000))
    with path.open("wb") as file:
        for _ in range(LOG_BYTES // len(piece) + 1):
            file.write(piece)
    return path


def log_line(message: str) -> bytes:
    """Return a line as a worker writes it."""
    time = "2024-01-02T03:04:05.678Z"
    return encode(LogLine(time=time, source=LogSource.STDOUT, message=message))
