"""SQL on processes: who runs, who is alive, who was declared dead."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from json import dumps
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot
from headway.domain.arguments import JsonValue
from headway.domain.errors import FencedError


@dataclass(frozen=True, slots=True)
class Identity:
    """A registered process.  Whoever declares it dead ends its row, and so fences it."""

    id: int
    epoch: int
    proof: UUID | None = field(default=None, repr=False)
    """What only this process knows; the database has its hash."""


class WorkerBeat(NamedTuple):
    """What a worker hears when it says that it is alive."""

    now: datetime
    """What the database's clock shows."""
    drain: bool
    """Whether it was told to drain."""


REGISTER = text("""
    WITH proof AS MATERIALIZED (
        SELECT gen_random_uuid() AS value
    ), registered AS (
        INSERT INTO process (kind, hostname, pid, version, queues, slots, proof_hash)
        SELECT :kind, :hostname, :pid, :version, CAST(:queues AS text[]), :slots,
               sha256(uuid_send(value))
          FROM proof
     RETURNING id, epoch
    ), beating AS (
        INSERT INTO process_beat (process_id) SELECT id FROM registered
    )
    SELECT id, epoch, value AS proof FROM registered CROSS JOIN proof
""")

# FOR SHARE, because it conflicts with the update of whoever declares this process
# dead; FOR KEY SHARE would not.
CONFIRM = hot("""
    SELECT 1
      FROM process
     WHERE id = :id AND epoch = :epoch AND ended_at IS NULL
       FOR SHARE
""")

PRESENT = text("""
    SELECT EXISTS (
        SELECT FROM process WHERE id = :id AND epoch = :epoch AND ended_at IS NULL
    )
""")

# What such a transaction writes is decided again if the server loses it in a crash; all
# that follows from it, a claim or a report, waits for the disk and takes it along.
CONFIRM_REPEATABLE = hot("""
    SELECT set_config('synchronous_commit', 'off', true)
      FROM process
     WHERE id = :id AND epoch = :epoch AND ended_at IS NULL
       FOR SHARE
""")

WAIT_FOR_DISK = text("""
    SELECT set_config(name, reset_val, true) FROM pg_settings WHERE name = 'synchronous_commit'
""")

SERVE = text("UPDATE process SET bundles = :bundles WHERE id = :id AND epoch = :epoch")

SERVE_HTTP = text("UPDATE process SET http_address = :address WHERE id = :id AND epoch = :epoch")

# The skew is that of the beat before: by the answer to this one the process compares anew.
BEAT = text("""
    UPDATE process_beat
       SET beat_at = clock_timestamp(), clock_skew = coalesce(CAST(:skew AS float8), clock_skew)
      FROM process
     WHERE process_beat.process_id = :id
       AND process.id = :id AND process.epoch = :epoch AND process.ended_at IS NULL
 RETURNING clock_timestamp() AS now
""")

BEAT_WORKER = hot("""
    UPDATE process_beat
       SET beat_at = clock_timestamp(), report = coalesce(CAST(:report AS json), report),
           clock_skew = coalesce(CAST(:skew AS float8), clock_skew)
      FROM process
     WHERE process_beat.process_id = :id
       AND process.id = :id AND process.epoch = :epoch AND process.ended_at IS NULL
 RETURNING clock_timestamp() AS now, process.drain_requested_at IS NOT NULL AS drain
""")

DRAIN = text("""
    UPDATE process SET drain_requested_at = coalesce(drain_requested_at, now())
     WHERE id = :id AND kind = 'worker' AND ended_at IS NULL
""")

LEAVE = text("""
    UPDATE process SET ended_at = now() WHERE id = :id AND epoch = :epoch AND ended_at IS NULL
""")

SILENT = text("""
    SELECT count(*) FILTER (WHERE greatest(beat.beat_at, pg_postmaster_start_time())
                                  < now() - make_interval(secs => :threshold)) AS silent,
           count(*) AS registered
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE process.ended_at IS NULL
""")

# While the database was away nobody could beat: that time is held against no one.
LOCK_DEAD = text("""
    SELECT process.id, process.kind, process.hostname, process.pid
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE process.ended_at IS NULL
       AND greatest(beat.beat_at, pg_postmaster_start_time())
           < now() - make_interval(secs => :threshold)
     ORDER BY process.id
     LIMIT :limit
       FOR NO KEY UPDATE OF process SKIP LOCKED
""")

SKEWS = text("""
    SELECT kind, id, hostname, beat.clock_skew
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE ended_at IS NULL AND beat.clock_skew IS NOT NULL
     ORDER BY id
""")

END = text("""
    UPDATE process SET ended_at = now(), epoch = epoch + 1 WHERE id = ANY (:ids)
""")


class ProcessClock(NamedTuple):
    """A process, and by how many seconds its clock is ahead of the database's."""

    kind: str
    id: int
    hostname: str
    skew: float


@dataclass(frozen=True, slots=True)
class DeadProcess:
    """A process that has not been heard of for too long."""

    id: int
    kind: str
    hostname: str
    pid: int


def register(
    conn: Connection,
    kind: str,
    host: tuple[str, int],
    version: str,
    queues: Sequence[str] = (),
    slots: int = 0,
) -> Identity:
    """Enter a process that starts now; `host` is its host's name and its pid there."""
    row = conn.execute(
        REGISTER,
        {
            "kind": kind,
            "hostname": host[0],
            "pid": host[1],
            "version": version,
            "queues": list(queues),
            "slots": slots,
        },
    ).one()
    return Identity(row.id, row.epoch, row.proof)


def confirm(conn: Connection, me: Identity, *, repeatable: bool = False) -> None:
    """Begin a transaction of a service: raise FencedError when it was declared dead.

    Nobody can declare it dead from here until the transaction ends.  A `repeatable` one
    does not wait for the disk: if its commit is lost, it is as if it had never been.
    """
    statement = CONFIRM_REPEATABLE if repeatable else CONFIRM
    if conn.execute(statement, {"id": me.id, "epoch": me.epoch}).one_or_none() is None:
        raise FencedError(FENCED)


def is_present(conn: Connection, me: Identity) -> bool:
    """Tell whether this process is registered, and nobody has declared it dead."""
    return bool(conn.scalar(PRESENT, {"id": me.id, "epoch": me.epoch}))


def wait_for_disk(conn: Connection) -> None:
    """Have a transaction wait for the disk that was confirmed as one that is repeatable."""
    conn.execute(WAIT_FOR_DISK)


def serve(conn: Connection, me: Identity, bundles: Sequence[str]) -> None:
    """Say which bundles this process, a parser, looks at."""
    conn.execute(SERVE, {"id": me.id, "epoch": me.epoch, "bundles": list(bundles)})


def serve_http(conn: Connection, me: Identity, address: str) -> None:
    """Say at which host:port this process, a worker, answers requests for logs."""
    conn.execute(SERVE_HTTP, {"id": me.id, "epoch": me.epoch, "address": address})


def beat(conn: Connection, me: Identity, skew: float | None = None) -> datetime:
    """Say that this process is alive; return what the database's clock shows.

    `skew` is by how many seconds the clock of this process was ahead of that, if it knows.
    FencedError when it was declared dead.
    """
    now = conn.scalar(BEAT, {"id": me.id, "epoch": me.epoch, "skew": skew})
    if now is None:
        raise FencedError(FENCED)
    found: datetime = now
    return found


def beat_worker(
    conn: Connection,
    me: Identity,
    report: Mapping[str, JsonValue] | None,
    skew: float | None = None,
) -> WorkerBeat:
    """Say that this worker is alive, and what its machine has left, where that is news.

    `skew` is by how many seconds its clock was ahead of the database's, if it knows.
    FencedError when it was declared dead.
    """
    said = None if report is None else dumps(dict(report))
    parameters = {"id": me.id, "epoch": me.epoch, "report": said, "skew": skew}
    told = conn.execute(BEAT_WORKER, parameters).one_or_none()
    if told is None:
        raise FencedError(FENCED)
    return WorkerBeat(*told)


def drain(conn: Connection, worker: int) -> bool:
    """Tell a worker to take no more, finish, and end; False if no such worker runs."""
    return conn.execute(DRAIN, {"id": worker}).rowcount > 0


def leave(conn: Connection, me: Identity) -> None:
    """Say that this process ends in good order."""
    conn.execute(LEAVE, {"id": me.id, "epoch": me.epoch})


def skews(conn: Connection) -> list[ProcessClock]:
    """Return the clocks of processes that have not ended, as they have compared them last."""
    return [ProcessClock(*row) for row in conn.execute(SKEWS)]


def silent(conn: Connection, threshold: float) -> tuple[int, int]:
    """Return how many have not beaten for `threshold` seconds, and of how many that is."""
    row = conn.execute(SILENT, {"threshold": threshold}).one()
    return int(row.silent), int(row.registered)


def end_dead(conn: Connection, threshold: float, limit: int) -> list[DeadProcess]:
    """Declare those dead that have not beaten for `threshold` seconds, and return them."""
    rows = conn.execute(LOCK_DEAD, {"threshold": threshold, "limit": limit})
    dead = [DeadProcess(row.id, row.kind, row.hostname, row.pid) for row in rows]
    if dead:
        conn.execute(END, {"ids": [process.id for process in dead]})
    return dead


FENCED = (
    "This process was declared dead by another one, because its heartbeat was late. "
    "It stops now; what it held is being done again elsewhere."
)
