"""The Python processes that run the UDFs of one attempt, on a server of the worker's own.

Spark has such processes for each session, below a daemon of pyspark, and keeps the daemon for as
long as the server lives.  Their environment names an artifact id that no client is told, so an
attempt's session starts Python by a program of its own, which marks all that it starts.
"""

import os
import signal
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Final

from headway.runtime.processes.linux import processes

MARK: Final = "HEADWAY_SPARK_ATTEMPT"
"""The variable that names the attempt, in the environment of its Python processes."""


def marked_python(folder: Path, python: str, mark: str) -> str | None:
    """Return a program that runs `python` with the mark; None if none can be run in that folder."""
    program = folder / f"python-{mark}"
    program.write_text(f'#!/bin/sh\n{MARK}={quote(mark)} exec {quote(python)} "$@"\n')
    program.chmod(0o700)
    return str(program) if os.access(program, os.X_OK) else None  # it may be mounted noexec


def end_marked(servers: Collection[int], marks: Collection[str]) -> int:
    """Kill the processes with these marks, and all below them; return how many there were.

    All processes below the nannies of these servers are looked at: what has left its parent, and
    founded a session of its own, is a child of the nanny.  All are stopped before one is killed: a
    process that has just been started may show no environment yet, and is told by its parent.
    """
    wanted = {f"{MARK}={mark}".encode() for mark in marks}
    stopped: set[int] = set()
    while found := set(_marked(servers, wanted)) - stopped:
        _signal(found, signal.SIGSTOP)
        stopped |= found
    _signal(stopped, signal.SIGKILL)
    return len(stopped)


def _signal(pids: Collection[int], signum: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signum)


def _marked(servers: Collection[int], wanted: set[bytes]) -> Iterator[int]:
    parents = {pid: entry.parent for pid, entry in processes().items()}
    children: dict[int, list[int]] = defaultdict(list)
    for pid, parent in parents.items():
        children[parent].append(pid)
    for nanny in {parents[server] for server in servers if server in parents}:
        for pid in _descendants(nanny, children):
            if wanted & set(_environment(pid)):
                yield from (pid, *_descendants(pid, children))


def _descendants(pid: int, children: Mapping[int, list[int]]) -> list[int]:
    found = children.get(pid, [])
    return [*found, *(below for child in found for below in _descendants(child, children))]


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
