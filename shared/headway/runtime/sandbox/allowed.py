"""Which paths a sandboxed child may read, as whole trees.

Landlock knows rules for a tree only, and takes nothing away: where something hidden
lies in a tree, the entries beside it are allowed one by one.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

SYSTEM: Final = (
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/opt",
    "/etc",
    "/proc",
    "/sys/devices/system/cpu",
)
SECRET: Final = (
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
)
DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

Identity: TypeAlias = tuple[int, int, int] | None
"""What tells that a path leads to the same thing still: device, inode, time of the last change."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """Trees that may be read, and folders of which the entries may be listed."""

    trees: tuple[str, ...]
    listed: tuple[str, ...]
    _as_of: dict[str, Identity] = field(default_factory=dict)

    def holds(self) -> bool:
        """Return whether the paths still lead where they did, and nothing has come in between."""
        return all(_identity(path, self.listed) == seen for path, seen in self._as_of.items())


def interpreter() -> list[str]:
    """Return where this interpreter and all that can be imported lie."""
    found = [sys.prefix, sys.base_prefix, sys.exec_prefix, str(Path(sys.executable).parent)]
    return [path for path in dict.fromkeys([*found, *sys.path]) if path and Path(path).exists()]


def allowed(fixed: Iterable[str], readable: Iterable[str], hidden: Iterable[str]) -> Allowed:
    """Return what may be read of these paths when what is hidden is left out.

    What is `fixed` leads to the same place for as long as this process lives.

    Of two paths the one that names more decides: what is readable below something
    hidden may be read, what is hidden below that may not.
    """
    named = list(readable)
    kept_out = {os.path.realpath(path) for path in hidden}
    roots = {os.path.realpath(path) for path in (*fixed, *named)} - kept_out
    trees: list[str] = []
    listed: list[str] = []
    for root in sorted(roots):
        _walk(root, kept_out, trees, listed)
    watched = [*named, *listed]
    return Allowed(tuple(trees), tuple(listed), {p: _identity(p, listed) for p in watched})


def _walk(path: str, hidden: set[str], trees: list[str], listed: list[str]) -> None:
    """Add the tree at `path`, or, when something hidden lies in it, what lies beside that."""
    if not _any_below(path, hidden):
        trees.append(path)
        return
    listed.append(path)
    for entry in _entries(path):
        if entry not in hidden:
            _walk(entry, hidden, trees, listed)


def _any_below(path: str, hidden: set[str]) -> bool:
    prefix = path.rstrip("/") + "/"
    return any(each.startswith(prefix) for each in hidden)


def _entries(path: str) -> Iterator[str]:
    """Yield what lies in a folder but for symlinks, which allow nothing by themselves."""
    with suppress(OSError), os.scandir(path) as entries:
        yield from sorted(entry.path for entry in entries if not entry.is_symlink())


def _identity(path: str, listed: Iterable[str]) -> Identity:
    try:
        found = os.stat(path)  # noqa: PTH116 - it is asked for each child
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns if path in listed else 0
