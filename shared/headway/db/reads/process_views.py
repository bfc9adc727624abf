"""Service processes as people look at them.  Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from headway.db.core.prepared import hot
from headway.domain.arguments import JsonValue

PROCESSES = hot("""
    SELECT process.id, kind, hostname, pid, version, queues, slots, started_at, beat.beat_at,
           drain_requested_at, beat.report,
           (SELECT count(*) FROM task_attempt
             WHERE process_id = process.id AND ended_at IS NULL) AS running
      FROM process
      JOIN process_beat AS beat ON beat.process_id = process.id
     WHERE ended_at IS NULL
       AND (CAST(:kind AS text) IS NULL OR kind = :kind)
     ORDER BY kind, process.id
""")


@dataclass(frozen=True, slots=True)
class ProcessView:
    """A service process that has not ended, alive or not.

    `kind` is worker, scheduler, backfill or parser.  `beat_at` is its last heartbeat.  Of a
    worker: its queues, its slots, since when it drains, `running` attempts, and in `report` what
    its machine has left (`load`, `cpus`; `memory_bytes`, `memory_available_bytes` and
    `disk_free_bytes` in bytes; each may be absent).
    """

    id: int
    kind: str
    hostname: str
    pid: int
    version: str
    queues: Sequence[str]
    slots: int
    started_at: datetime
    beat_at: datetime
    drain_requested_at: datetime | None
    report: Mapping[str, JsonValue] | None
    running: int


def processes(conn: Connection, kind: str | None = None) -> list[ProcessView]:
    """Return the service processes that have not ended, or those of that kind, by kind."""
    return [ProcessView(**row) for row in conn.execute(PROCESSES, {"kind": kind}).mappings()]
