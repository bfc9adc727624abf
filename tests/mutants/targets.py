"""What is mutated under each name, and the tests that mirror a module."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SCHEDULER: Final = "services/scheduler/headway_scheduler"
_WORKER: Final = ("attempts/", "callbacks/", "child/", "database/", "logs/", "supervision/")


_OF_SERVICES: Final = {"services", "machine", "kubectl"}
"""Folders of tests that take whole services, which are too slow to be asked of each mutant."""


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
    "decide": Target(
        ("shared/headway/decide/*/*.py",),
        ("tests/unit/decide",),
        ("tests/integration/decide",),
        420,
    ),
    "domain": Target(("shared/headway/domain/**/*.py",), ("tests/unit/domain",), ("tests/unit/*",)),
    "timetables": Target(("shared/headway/timetables/**/*.py",), ("tests/unit/timetables",)),
    "db": Target(("shared/headway/db/*/*.py",), ("tests/unit/db",), ("tests/integration",), 420),
    "passes": Target(
        (f"{_SCHEDULER}/**/*.py",),
        ("tests/unit/scheduler",),
        ("tests/integration",),
        420,
    ),
    "worker": Target(
        tuple(f"services/worker/headway_worker/{name}*.py" for name in ("", *_WORKER)),
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
    """Return the tests that mirror a file: those that import it, and the others of its package.

    If no test imports it, those that import what imports it stand for them.
    """
    near = _importers(root, target, [source])
    if not near:
        near = _importers(root, target, _users(root, source))
    whole = {path for folder in target.whole for path in _tests(root, folder)}
    others = sorted(path.relative_to(root) for path in whole if path.relative_to(root) not in near)
    return near, others


def _importers(root: Path, target: Target, modules: Iterable[Path]) -> list[Path]:
    """Return the tests that import one of these modules, those that are called like it first."""
    folders, names = (*target.whole, *target.mirrors), [path.stem.rstrip("s") for path in modules]
    patterns = [_importing(module) for module in modules]
    found = {path for folder in folders for path in _tests(root, folder)}
    near = [path for path in found if any(pattern.search(path.read_text()) for pattern in patterns)]
    near.sort(key=lambda path: (not any(name in path.stem for name in names), path))
    return [path.relative_to(root) for path in near]


def _users(root: Path, source: Path) -> list[Path]:
    """Return the modules of the product that import this one."""
    pattern = _importing(source)
    every = (path for top in ("shared", "services") for path in (root / top).rglob("*.py"))
    return sorted(path.relative_to(root) for path in every if pattern.search(path.read_text()))


def _tests(root: Path, folder: str) -> Iterator[Path]:
    for place in root.glob(folder):
        for path in place.rglob("test_*.py"):
            if not _OF_SERVICES & set(path.parts):
                yield path


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
