"""SQL on other runs that a task asks about: of its DAG, or of another one of its bundle."""

from typing import Final

from sqlalchemy import Connection, text

from headway.domain.errors import RequestError
from headway.domain.states import RunState

# Who asks is of the bundle of its version; a DAG that is asked about is of the one that has it now,
# but for the asking task's own one, whose runs are one history.
IN_BUNDLE = text("""
    SELECT other.dag_id
      FROM dag_version AS own
      JOIN dag AS other ON other.bundle = own.bundle OR other.dag_id = own.dag_id
     WHERE own.id = :version AND other.dag_id = :dag_id
""")

FIND = text("SELECT id FROM dag_run WHERE dag_id = :dag_id AND run_id = :run_id")

STATE = text("SELECT state FROM dag_run WHERE dag_id = :dag_id AND run_id = :run_id")

# LATERAL with a LIMIT has the planner go from run to run, the last one first.
LATEST = text("""
    SELECT run.run_id
      FROM (SELECT id, run_id, schedule_date
              FROM dag_run
             WHERE dag_id = :dag_id
               AND schedule_date <= coalesce(
                   (SELECT schedule_date FROM dag_run WHERE dag_id = :dag_id AND run_id = :run_id),
                   (SELECT schedule_date FROM dag_run WHERE id = :run))
             ORDER BY schedule_date DESC, id DESC
             LIMIT :most) AS run
     CROSS JOIN LATERAL (
           SELECT FROM task_instance AS task
             JOIN xcom ON (xcom.task_instance_id, xcom.attempt) = (task.id, task.attempt)
            WHERE task.dag_run_id = run.id AND task.task_id = :task_id AND xcom.key = :key
            LIMIT 1) AS left_one
     ORDER BY run.schedule_date DESC, run.id DESC
     LIMIT 1
""")

MOST_LOOKED_AT: Final = 1_000
"""Runs that are looked at for the last one in which a task has left something."""


def find(conn: Connection, version: int, dag_id: str, run_id: str) -> int | None:
    """Return the number of another run, for a task of `version`; None if there is no such run.

    RequestError for another DAG that is not in the version's bundle.
    """
    _check(conn, version, dag_id)
    found: int | None = conn.scalar(FIND, {"dag_id": dag_id, "run_id": run_id})
    return found


def state(conn: Connection, version: int, dag_id: str, run_id: str) -> RunState | None:
    """Return the state of another run, for a task of `version`; None if there is no such run.

    RequestError for another DAG that is not in the version's bundle.
    """
    _check(conn, version, dag_id)
    found = conn.scalar(STATE, {"dag_id": dag_id, "run_id": run_id})
    return None if found is None else RunState(found)


def latest(
    conn: Connection, own: tuple[int, int], named: tuple[str, str], left: tuple[str, str]
) -> str | None:
    """Return the id of the last run in which a task has left something; None if there is none.

    `own` are the run and the version whose task asks.  `named` are a DAG and a run of it, up to
    which is looked; if the DAG has no such run, up to the date of the own one.  `left` are the
    task and the key of what it left.  RequestError for another DAG that is not in the version's
    bundle.
    """
    run, version = own
    dag_id, run_id = named
    task_id, key = left
    _check(conn, version, dag_id)
    found: str | None = conn.scalar(
        LATEST,
        {
            "run": run,
            "dag_id": dag_id,
            "run_id": run_id,
            "task_id": task_id,
            "key": key,
            "most": MOST_LOOKED_AT,
        },
    )
    return found


def _check(conn: Connection, version: int, dag_id: str) -> None:
    if conn.scalar(IN_BUNDLE, {"version": version, "dag_id": dag_id}) is None:
        raise RequestError(
            f"A task cannot ask about the DAG {dag_id!r}: there is no such DAG in its bundle."
        )
