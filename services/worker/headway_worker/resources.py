"""What a worker's machine has left: processors, memory, disk."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from headway.domain.arguments import JsonValue
from headway.runtime.processes.tree import descendants

_LIMIT: Final = ("memory.max", "memory.current")
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def resources(folder: Path) -> dict[str, JsonValue]:
    """Return what there is, and what is in use.

    `cpus` are those that this process may use, `load` how many processes wanted one over the
    last minute.  `memory_bytes` is what the worker and the processes below it have for
    themselves, pages that they share from before a fork counted for each of them (0 where the
    system does not tell), `memory_available_bytes` what is left to be had, and
    `disk_free_bytes` what is free where `folder` is.
    """
    return {
        "cpus": _processors(),
        "load": round(os.getloadavg()[0], 2),
        "memory_bytes": sum(_own_bytes(pid) for pid in (os.getpid(), *descendants())),
        "memory_available_bytes": available_memory(),
        "disk_free_bytes": shutil.disk_usage(folder).free,
    }


def available_memory(
    proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")
) -> int | None:
    """Return how many bytes processes here can still get; None where the system does not tell.

    What the kernel keeps of files counts: it makes room. A limit of the cgroup counts as well.
    """
    with suppress(OSError, ValueError, KeyError):
        fields = _fields(proc / "meminfo")
        left = fields["MemAvailable:"] * 1024
        with suppress(OSError, ValueError, KeyError):  # "max" is no number: there is no limit
            limit, used = (int((cgroups / name).read_text()) for name in _LIMIT)
            left = min(left, limit - used + _fields(cgroups / "memory.stat")["inactive_file"])
        return max(left, 0)
    return None


def _fields(file: Path) -> dict[str, int]:
    lines = (line.split() for line in file.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines}


def _processors() -> int:
    with suppress(AttributeError):  # macOS has no such call
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _own_bytes(pid: int) -> int:
    try:
        fields = Path("/proc", str(pid), "statm").read_text().split()
    except OSError:  # it has just ended, or there is no /proc
        return 0
    return (int(fields[1]) - int(fields[2])) * _PAGE
