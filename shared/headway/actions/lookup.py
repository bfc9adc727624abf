"""Find what a user names."""

from dataclasses import dataclass
from difflib import get_close_matches

from sqlalchemy import Connection

from headway.db import views
from headway.db.views import Row
from headway.domain.errors import NotFoundError
from headway.domain.spec import DagSpec
from headway.serialization import codec


@dataclass(frozen=True, slots=True)
class CurrentDag:
    """A DAG as the version in force has it."""

    spec: DagSpec
    version_id: int
    paused: bool


def current_dag(conn: Connection, dag_id: str) -> CurrentDag:
    """Return the DAG; NotFoundError, naming the nearest ones, when there is none."""
    row = views.current_version(conn, dag_id)
    if row is None or not row["active"]:
        raise NotFoundError(_no_dag(conn, dag_id))
    return CurrentDag(codec.decode(bytes(row["serialized"])), row["id"], row["paused"])


def _no_dag(conn: Connection, dag_id: str) -> str:
    known = [str(row["dag_id"]) for row in views.dags(conn)]
    near = get_close_matches(dag_id, known)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`headway dags list` shows them all."
    return f"There is no DAG {dag_id!r}. {hint}"


def run_of(conn: Connection, dag_id: str, run_id: str) -> Row:
    """Return the run as `views.runs` has it; NotFoundError when there is none."""
    rows = views.runs(conn, dag_id, run_id)
    if not rows:
        if not views.dags(conn, dag_id):
            raise NotFoundError(_no_dag(conn, dag_id))
        raise NotFoundError(
            f"DAG {dag_id} has no run {run_id!r}; `headway runs list {dag_id}` shows its runs."
        )
    return rows[0]
