"""What a worker's machine has left: processors, memory, disk."""

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from headway.domain.arguments import JsonValue
from headway.runtime.forker.tree import descendants

_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def resources(folder: Path) -> dict[str, JsonValue]:
    """Return what there is, and what is in use.

    `cpus` are those that this process may use, `load` how many processes wanted one over the
    last minute.  `memory_bytes` is what the worker and the processes below it have for
    themselves, pages that they share from before a fork counted for each of them (0 where the
    system does not tell), and `disk_free_bytes` what is free where `folder` is.
    """
    return {
        "cpus": _processors(),
        "load": round(os.getloadavg()[0], 2),
        "memory_bytes": sum(_own_bytes(pid) for pid in (os.getpid(), *descendants())),
        "disk_free_bytes": shutil.disk_usage(folder).free,
    }


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
