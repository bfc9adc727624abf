"""The cells of a grid: how the tasks of some runs stand, in few rows.  Reads only."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.decide.charts.grid import CODED, MappedCell, PackedCells
from headway.domain.states import TaskState

# The tasks of the newest version come first, in topological order; then those that only older
# ones have.
ROWS = hot("""
    SELECT it.task_id, it.mapped
      FROM (SELECT DISTINCT ON (task_id) task_id, mapped, position, version_id
              FROM dag_task
             WHERE version_id = ANY (CAST(:versions AS bigint[]))
                OR version_id = (SELECT version_id FROM dag WHERE dag_id = :dag_id)
             ORDER BY task_id, version_id DESC) AS it
     ORDER BY it.version_id DESC, it.position
""")

# A cell is a number of four bytes: the row, and in the last byte the state and its flags.
CELLS = hot("""
    SELECT task.dag_run_id,
           string_agg(int4send(CAST((place.nth - 1) * 256
                                    + array_position(CAST(:states AS text[]), task.state)
                                    + CASE WHEN task.attempt > 1 THEN :retried ELSE 0 END
                                    AS int)), '') AS cells
      FROM task_instance AS task
      JOIN unnest(CAST(:task_ids AS text[])) WITH ORDINALITY AS place (task_id, nth)
        ON place.task_id = task.task_id
     WHERE task.dag_run_id = ANY (CAST(:run_ids AS bigint[])) AND task.map_index = -1
     GROUP BY task.dag_run_id
""")

MAPPED = hot("""
    SELECT dag_run_id, task_id, state, count(*) AS instances, bool_or(attempt > 1) AS retried
      FROM task_instance
     WHERE dag_run_id = ANY (CAST(:run_ids AS bigint[])) AND map_index >= 0
     GROUP BY dag_run_id, task_id, state
     ORDER BY dag_run_id, task_id, state
""")


@dataclass(frozen=True, slots=True)
class GridRow:
    """A task of a grid; `mapped` tasks have several instances in one run."""

    task_id: str
    mapped: bool


def rows(conn: Connection, dag_id: str, versions: Sequence[int]) -> list[GridRow]:
    """Return the tasks that a DAG has in these versions, or in the one in force."""
    found = conn.execute(ROWS, {"dag_id": dag_id, "versions": list(versions)})
    return [GridRow(row.task_id, row.mapped) for row in found]


def packed(
    conn: Connection, run_ids: Sequence[int], task_ids: Sequence[str], retried: int
) -> dict[int, PackedCells]:
    """Return the cells of the tasks that are not mapped, by run."""
    parameters = {
        "run_ids": list(run_ids),
        "task_ids": list(task_ids),
        "states": [str(state) for state in CODED],
        "retried": retried,
    }
    rows = conn.execute(CELLS, parameters)
    return {row.dag_run_id: PackedCells(row.cells) for row in rows}


def mapped(conn: Connection, run_ids: Sequence[int]) -> dict[int, dict[str, MappedCell]]:
    """Return how the instances of mapped tasks stand, by run and task."""
    counts: dict[int, dict[str, dict[TaskState, int]]] = {}
    retried: set[tuple[int, str]] = set()
    for row in conn.execute(MAPPED, {"run_ids": list(run_ids)}):
        its = counts.setdefault(row.dag_run_id, {}).setdefault(row.task_id, {})
        its[TaskState(row.state)] = row.instances
        if row.retried:
            retried.add((row.dag_run_id, row.task_id))
    return {
        run_id: {
            task_id: MappedCell(states, (run_id, task_id) in retried)
            for task_id, states in tasks.items()
        }
        for run_id, tasks in counts.items()
    }
