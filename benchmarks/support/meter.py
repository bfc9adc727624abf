"""What was spent: statements by role, seconds of CPU by process, the time between two commits."""

import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil
from sqlalchemy import Connection, Engine, text

_CPU_CLOCK: Final = 2
"""CPUCLOCK_SCHED: with a process id it makes the id of that process's clock, as
`clock_getcpuclockid` returns it; Python has no function for that."""

_RESET: Final = text("SELECT pg_stat_statements_reset()")

_STATEMENTS: Final = text(r"""
    SELECT coalesce(sum(calls) FILTER (WHERE NOT frame), 0) AS work,
           coalesce(sum(calls) FILTER (WHERE frame), 0) AS frames
      FROM (SELECT calls, query ~* '^\s*(BEGIN|COMMIT|ROLLBACK)' AS frame
              FROM pg_stat_statements
              JOIN pg_roles ON pg_roles.oid = userid
              JOIN pg_database ON pg_database.oid = dbid
             WHERE rolname = :role AND datname = current_database()) AS statement
""")

_TOP: Final = text(r"""
    SELECT rolname, calls, total_exec_time AS ms, rows,
           regexp_replace(query, '\s+', ' ', 'g') AS query
      FROM pg_stat_statements
      JOIN pg_roles ON pg_roles.oid = userid
      JOIN pg_database ON pg_database.oid = dbid
     WHERE rolname LIKE 'headway\_%' AND datname = current_database()
     ORDER BY total_exec_time DESC
     LIMIT :limit
""")

_BACKENDS: Final = text("""
    SELECT pid FROM pg_stat_activity WHERE usename = :role AND datname = current_database()
""")


@dataclass(frozen=True, slots=True)
class Spent:
    """What a role's processes used while something was measured."""

    statements: int
    frames: int
    cpu: float
    server_cpu: float
    all_servers_cpu: float


class Meter:
    """Count what the processes `pids` use, that log in as `role`, from `start` to `read`."""

    def __init__(self, engine: Engine, postmaster: int, role: str, pids: Iterable[int]) -> None:
        self._engine, self._role = engine, role
        self._postmaster = psutil.Process(postmaster)
        self._pids = list(pids)
        self._before: list[dict[int, float]] = []

    def start(self) -> None:
        """Begin to count."""
        with self._engine.begin() as conn:
            conn.execute(_RESET)
        self._before = self._cpu()

    def read(self) -> Spent:
        """Return what was used since the start."""
        now = self._cpu()
        with self._engine.connect() as conn:
            row = conn.execute(_STATEMENTS, {"role": self._role}).one()
        used = [
            sum(seconds - before.get(pid, 0.0) for pid, seconds in after.items())
            for after, before in zip(now, self._before, strict=True)
        ]
        return Spent(int(row.work), int(row.frames), *used)

    def _cpu(self) -> list[dict[int, float]]:
        """Return the seconds of CPU so far: of the services, of their backends, of the server."""
        with self._engine.connect() as conn:
            backends = list(conn.scalars(_BACKENDS, {"role": self._role}))
        server = cpu_seconds(process.pid for process in self._postmaster.children())
        times = self._postmaster.cpu_times()
        server[self._postmaster.pid] = times.children_user + times.children_system
        return [cpu_seconds(self._pids), cpu_seconds(backends), server]


def cpu_seconds(pids: Iterable[int]) -> dict[int, float]:
    """Return how long each process has been on a CPU, to the nanosecond; 0 if it has ended."""
    return {pid: _on_cpu(pid) for pid in pids}


def family_cpu_seconds(root: int) -> float:
    """Return how long a process and all below it have been on a CPU.

    Processes that have ended count for the one that has waited for them, to ten milliseconds.
    """
    total = 0.0
    process = psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            total += _on_cpu(each.pid) + sum(each.cpu_times()[2:4])
    return total


def top_statements(conn: Connection, limit: int = 15) -> str:
    """Return the statements of the services that took the most time since the meter's start."""
    lines = [
        f"{row.ms:9.1f} ms {row.calls:6} calls {row.rows:8} rows  {row.rolname}: {row.query[:160]}"
        for row in conn.execute(_TOP, {"limit": limit})
    ]
    return "\n".join(lines)


def _on_cpu(pid: int) -> float:
    try:
        if sys.platform == "linux":
            return time.clock_gettime((~pid << 3) | _CPU_CLOCK)
        return float(sum(psutil.Process(pid).cpu_times()[:2]))
    except (OSError, psutil.NoSuchProcess):  # it has just ended
        return 0.0
