"""What is mutated under each name, and the tests that mirror a module."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SCHEDULER: Final = "services/scheduler/headway_scheduler"


@dataclass(frozen=True, slots=True)
class Target:
    """The files that are mutated, and the folders whose tests mirror them.

    All tests of a folder in `whole` are run, those that import the module first; of a folder in
    `mirrors` only those that import it.
    """

    sources: tuple[str, ...]
    whole: tuple[str, ...] = ()
    mirrors: tuple[str, ...] = ()
    seconds: float = 240


TARGETS: Final[Mapping[str, Target]] = {
    "decide": Target(("shared/headway/decide/*.py",), ("tests/unit/decide",)),
    "domain": Target(("shared/headway/domain/*.py",), ("tests/unit/domain",), ("tests/unit/*",)),
    "timetables": Target(("shared/headway/timetables/*.py",), ("tests/unit/timetables",)),
    "db": Target(("shared/headway/db/*.py",), ("tests/unit/db",), ("tests/integration",), 420),
    "passes": Target(
        (f"{_SCHEDULER}/passes/*.py", f"{_SCHEDULER}/*.py"),
        ("tests/unit/scheduler",),
        ("tests/integration",),
        420,
    ),
    "worker": Target(
        ("services/worker/headway_worker/*.py", "services/worker/headway_worker/callbacks/*.py"),
        ("tests/unit/worker",),
        ("tests/integration",),
        420,
    ),
}


def sources(root: Path, target: Target) -> list[Path]:
    """Return the files that are mutated, relative to the checkout."""
    found = {path.relative_to(root) for glob in target.sources for path in root.glob(glob)}
    return sorted(path for path in found if path.name != "__init__.py")


def mirrors(root: Path, target: Target, source: Path) -> tuple[list[Path], list[Path]]:
    """Return the tests that mirror a file: those that import it, and the others of its package."""
    importing = _importing(source)
    near: list[Path] = []
    others: list[Path] = []
    for path in sorted({path for folder in target.whole for path in _tests(root, folder)}):
        (near if importing.search(path.read_text()) else others).append(path)
    near += [
        path
        for folder in target.mirrors
        for path in _tests(root, folder)
        if path not in {*near, *others} and importing.search(path.read_text())
    ]
    near.sort(key=lambda path: (source.stem.rstrip("s") not in path.stem, path))
    return [it.relative_to(root) for it in near], [it.relative_to(root) for it in others]


def _tests(root: Path, folder: str) -> Iterator[Path]:
    for place in root.glob(folder):
        yield from place.rglob("test_*.py") if "unit" in folder else place.glob("test_*.py")


def _importing(source: Path) -> re.Pattern[str]:
    """Return what an import of the module looks like."""
    parts = (
        source.with_suffix("").parts[2:]
        if source.parts[0] == "services"
        else (source.with_suffix("").parts[1:])
    )
    package, name = ".".join(parts[:-1]), parts[-1]
    whole = rf"\b{re.escape(package)}\.{name}\b"
    part = rf"from {re.escape(package)} import (\([^)]*\b{name}\b|[^\n(]*\b{name}\b)"
    return re.compile(f"{whole}|{part}")
