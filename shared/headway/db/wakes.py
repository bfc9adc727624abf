"""SQL on wakes: runs in which something has changed that the scheduler has not settled.

A wake is written in the transaction of the change itself, so none is ever lost.
It is deleted by whoever has locked its run, before the run's tasks are read: what
is deleted was committed before the reading, what comes later stays.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

ADD = text("INSERT INTO wake (dag_run_id) SELECT unnest(CAST(:runs AS bigint[]))")

TAKE = text("DELETE FROM wake WHERE dag_run_id = ANY (:runs)")


def add(conn: Connection, runs: Sequence[int]) -> None:
    """Ask for these runs to be looked at."""
    conn.execute(ADD, {"runs": list(runs)})


def take(conn: Connection, runs: Sequence[int]) -> None:
    """Remove the wakes of runs that this transaction has locked and is about to read."""
    conn.execute(TAKE, {"runs": list(runs)})
