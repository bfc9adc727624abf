"""SQL that counts for metrics.  It decides nothing, and may take seconds."""

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot

# A pool without a scheduled task is counted as well, so that its series goes to 0.
ADMISSIBLE = text("""
    SELECT pool.name, count(task.id) AS number,
           coalesce(extract(epoch FROM now() - min(task.scheduled_at)), 0) AS oldest
      FROM pool
      LEFT JOIN task_instance AS task ON task.pool = pool.name AND task.state = 'scheduled'
     GROUP BY pool.name
     ORDER BY pool.name
""")

# Queues of workers that are alive are counted as well.
UNCLAIMED = text("""
    WITH waiting AS (
        SELECT queue, count(*) AS number, min(queued_at) AS since
          FROM task_attempt
         WHERE phase = 'queued'
         GROUP BY queue
    ), served AS (
        SELECT DISTINCT unnest(queues) AS queue FROM process
         WHERE kind = 'worker' AND ended_at IS NULL
    )
    SELECT queue AS name, coalesce(number, 0) AS number,
           coalesce(extract(epoch FROM now() - since), 0) AS oldest
      FROM waiting
      FULL JOIN served USING (queue)
     ORDER BY queue
""")

ALIVE = hot("""
    SELECT process.kind, count(*) AS number
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE process.ended_at IS NULL
       AND beat.beat_at >= now() - make_interval(secs => :threshold)
     GROUP BY process.kind
""")

RUNS = text("""
    SELECT state, count(*) AS number
      FROM dag_run
     WHERE state IN ('queued', 'running')
     GROUP BY state
""")

# What has ended is history, which only grows: the runs that have not ended lead to the rest.
TASKS = text("""
    SELECT task.state, count(*) AS number
      FROM dag_run AS run
      JOIN task_instance AS task ON task.dag_run_id = run.id
     WHERE run.state = 'running'
     GROUP BY task.state
""")

TABLES = text("""
    SELECT relname AS name, pg_total_relation_size(relid) AS size, n_dead_tup AS dead_rows,
           extract(epoch FROM now() - greatest(last_vacuum, last_autovacuum)) AS vacuum_age
      FROM pg_stat_user_tables
     WHERE schemaname = current_schema()
     ORDER BY relname
""")

SERVER = text("""
    SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS wal_bytes,
           (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database())
           AS transaction_id_age,
           headway_oldest_transaction() AS oldest_transaction
""")


class WaitingCount(NamedTuple):
    """How many wait in a pool or a queue, and for how many seconds the oldest has."""

    name: str
    number: int
    oldest: float


@dataclass(frozen=True, slots=True)
class TableSize:
    """How large a table is, and what vacuum has to do there."""

    name: str
    size: int
    dead_rows: int
    vacuum_age: float | None


@dataclass(frozen=True, slots=True)
class Server:
    """How the database stands; the oldest transaction is None where the owner may not see it."""

    wal_bytes: float
    transaction_id_age: int
    oldest_transaction: float | None


def admissible(conn: Connection) -> list[WaitingCount]:
    """Return the scheduled task instances of each pool."""
    return [
        WaitingCount(row.name, row.number, float(row.oldest)) for row in conn.execute(ADMISSIBLE)
    ]


def unclaimed(conn: Connection) -> list[WaitingCount]:
    """Return the attempts of each queue that wait for a worker."""
    return [
        WaitingCount(row.name, row.number, float(row.oldest)) for row in conn.execute(UNCLAIMED)
    ]


def alive(conn: Connection, threshold: float) -> dict[str, int]:
    """Return how many services of each kind have beaten within `threshold` seconds."""
    return {row.kind: row.number for row in conn.execute(ALIVE, {"threshold": threshold})}


def runs_by_state(conn: Connection) -> dict[str, int]:
    """Return how many runs are queued, and how many running."""
    return {row.state: row.number for row in conn.execute(RUNS)}


def tasks_by_state(conn: Connection) -> dict[str, int]:
    """Return how many task instances the running runs have in each state."""
    return {row.state: row.number for row in conn.execute(TASKS)}


def tables(conn: Connection) -> list[TableSize]:
    """Return each table of Headway."""
    return [
        TableSize(
            row.name,
            row.size,
            row.dead_rows,
            None if row.vacuum_age is None else float(row.vacuum_age),
        )
        for row in conn.execute(TABLES)
    ]


def server(conn: Connection) -> Server:
    """Return how the database stands."""
    row = conn.execute(SERVER).one()
    oldest = row.oldest_transaction
    return Server(float(row.wal_bytes), row.transaction_id_age, oldest)
