"""Which process a server is, so that it can be found again and is not taken for another one."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Final

_BOOT: Final = Path("/proc/sys/kernel/random/boot_id")
_UNKNOWN: Final = "unknown"
_STARTED: Final = 19
"""The start time of a process among the fields of its stat that follow the name."""


def identity_of(pid: int) -> str:
    """Return what tells this process from all others, of this machine and of any."""
    return f"{_machine()}/{pid}/{_started(pid)}"


def may_live(identity: str) -> bool:
    """Return whether that process runs on this machine; of another machine nothing is known."""
    machine, pid, started = identity.split("/")
    return machine == _machine() != _UNKNOWN and _started(int(pid)) == started


def kill(identity: str) -> None:
    """Kill that process, if it runs on this machine."""
    if may_live(identity):
        with suppress(ProcessLookupError):
            os.kill(int(identity.split("/")[1]), signal.SIGKILL)


def _machine() -> str:
    """Return the boot of this machine, with the namespace of the pids that we see."""
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name.strip("pid:[]")
        return f"{_BOOT.read_text().strip()}-{namespace}"
    except OSError:  # not on Linux
        return _UNKNOWN


def _started(pid: int) -> str:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return "gone"
    return "gone" if fields[0] in "ZX" else fields[_STARTED]
