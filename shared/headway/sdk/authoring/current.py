"""Which DAG is being built, and which DAG file is being loaded."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Final

import headway

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.bundle.bundle_code import BundleCode


@dataclass(frozen=True, slots=True)
class DagFile:
    """A DAG file that is being loaded: its module's name, where it lies, and the DAGs it made."""

    module_name: str
    path: Path
    bundle_root: Path
    dags: "list[DAG]" = field(default_factory=list)
    code: "BundleCode | None" = None

    def beside(self, name: str) -> Path | None:
        """Return the file or folder of that name beside the DAG file; None if there is none."""
        found = Path(normpath(self.path.parent / name))
        if self.code is not None:
            inside = self.code.inside(found)
            if inside is not None and self.code.has(inside):
                self.code.need(inside)
        return found if found.exists() else None


_open_dags: ContextVar["tuple[DAG, ...]"] = ContextVar("open_dags", default=())
_file: ContextVar[DagFile | None] = ContextVar("dag_file", default=None)

_OWN_CODE: Final = f"{Path(headway.__file__).parent}/"


def current_dag() -> "DAG | None":
    """Return the DAG whose `with` block this is; the innermost one."""
    dags = _open_dags.get()
    return dags[-1] if dags else None


def enter(dag: "DAG") -> None:
    """Let the tasks that are made from now on belong to `dag`."""
    _open_dags.set((*_open_dags.get(), dag))


def leave() -> None:
    """Go back to the DAG, if any, around the current one."""
    _open_dags.set(_open_dags.get()[:-1])


@contextmanager
def collect(file: DagFile) -> Iterator[None]:
    """Let DAGs that `file` makes inside this block report to it."""
    token = _file.set(file)
    try:
        yield
    finally:
        _file.reset(token)


def current_file() -> DagFile | None:
    """Return the DAG file that is being loaded."""
    return _file.get()


def report(dag: "DAG") -> DagFile | None:
    """Add a new DAG to the DAG file that makes it; return that file.

    A DAG made by a function that the file imported belongs to the file.  One made
    while the file imports another module belongs to that module.  Where no file is being
    loaded, it is the program that Python runs, if its own code makes the DAG.
    """
    file = _file.get()
    if file is None:
        return _program()
    if _importing() != file.module_name:
        return None
    file.dags.append(dag)
    return file


def _importing() -> str | None:
    """Return the name of the innermost module whose top level is running."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return None if frame is None else frame.f_globals.get("__name__")


def _program() -> DagFile | None:
    """Return the file of `python my_dag.py`; None where another module makes the DAG."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(_OWN_CODE):
        frame = frame.f_back
    if frame is None or frame.f_globals.get("__name__") != "__main__":
        return None
    file = frame.f_globals.get("__file__")
    if file is None:
        return None
    path = Path(file).absolute()
    return DagFile("__main__", path, path.parent)
