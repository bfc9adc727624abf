"""What the kernel tells of processes that it has killed for want of memory."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

_MINE: Final = Path("/proc/self/cgroup")
_ROOT: Final = Path("/sys/fs/cgroup")
_COUNT: Final = b"oom_kill "


def oom_kills() -> int | None:
    """Return how many processes of this one's memory cgroup were killed for want of memory so far.

    By whichever killer, the cgroup's own or the machine's.  None where nobody tells: on another
    system, or without that controller.
    """
    file = _file()
    if file is None:
        return None
    try:
        with open(file, "rb", buffering=0) as events:  # noqa: PTH123 - it is asked for each child
            return count_in(events.read())
    except OSError:
        return None


@cache
def _file() -> str | None:
    """Return the file that tells; a process seldom changes its cgroup, and its children follow."""
    try:
        candidates = files_for(_MINE.read_text(), _ROOT)
    except OSError:
        return None
    return next((str(file) for file in candidates if file.is_file()), None)


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


def count_in(events: bytes) -> int | None:
    """Return what `memory.events` or `memory.oom_control` counts as `oom_kill`."""
    for line in events.splitlines():
        if line.startswith(_COUNT):
            return int(line.removeprefix(_COUNT))
    return None
