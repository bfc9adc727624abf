"""What the kernel tells of processes that it has killed for want of memory."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

_MINE: Final = Path("/proc/self/cgroup")
_ROOT: Final = Path("/sys/fs/cgroup")


def oom_kills() -> int | None:
    """Return how many processes of this one's memory cgroup were killed for want of memory so far.

    By whichever killer, the cgroup's own or the machine's.  None where nobody tells: on another
    system, or without that controller.
    """
    file = _file()
    try:
        return None if file is None else count_in(file.read_text())
    except OSError:
        return None


@cache
def _file() -> Path | None:
    """Return the file that tells; a process seldom changes its cgroup, and its children follow."""
    try:
        candidates = files_for(_MINE.read_text(), _ROOT)
    except OSError:
        return None
    return next((file for file in candidates if file.is_file()), None)


def files_for(mine: str, root: Path) -> Iterator[Path]:
    """Yield the files that may tell, given what /proc says of a process's cgroups.

    In a container the path may be that on its host: then its own cgroup is mounted at the root.
    """
    for line in mine.splitlines():
        _number, controllers, path = line.split(":", 2)
        if controllers == "":
            base, name = root, "memory.events"
        elif "memory" in controllers.split(","):
            base, name = root / "memory", "memory.oom_control"
        else:
            continue
        yield base / path.lstrip("/") / name
        yield base / name


def count_in(events: str) -> int | None:
    """Return what `memory.events` or `memory.oom_control` counts as `oom_kill`."""
    found = [line.split()[1] for line in events.splitlines() if line.startswith("oom_kill ")]
    return int(found[0]) if found else None
