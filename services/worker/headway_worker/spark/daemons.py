"""The Python processes that run the UDFs of one session, on a server of the worker's own.

A session that has artifacts has such processes to itself, below a daemon of pyspark.  Spark
keeps that daemon for as long as the server lives.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

_SESSION: Final = b"SPARK_JOB_ARTIFACT_UUID="


def end_daemons(servers: Collection[int], session_ids: Collection[str]) -> int:
    """Kill the daemons of sessions that have ended, and all below; return how many there were.

    `servers` are the processes below which they are.
    """
    marks = {_SESSION + session_id.encode() for session_id in session_ids}
    children = _children()
    below = [pid for server in servers for pid in children.get(server, ())]
    daemons = [pid for pid in below if marks & set(_environment(pid))]
    for pid in daemons:
        for each in (pid, *_descendants(pid, children)):
            with suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
    return len(daemons)


def _descendants(pid: int, children: Mapping[int, list[int]]) -> list[int]:
    found = children.get(pid, [])
    return [*found, *(below for child in found for below in _descendants(child, children))]


def _children() -> Mapping[int, list[int]]:
    """Return the children of every process."""
    found: dict[int, list[int]] = defaultdict(list)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            found[int(parent)].append(int(stat.parent.name))
    return found


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
