"""Which DAG, group and block are being built, and which DAG file is being loaded."""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING, Final

import headway
from headway.domain.dag.cron_semantics import CronSemantics
from headway.sdk.running.file_secrets import FileSecrets

if TYPE_CHECKING:
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.dependencies import SetupScope
    from headway.sdk.authoring.groups.task_group import TaskGroup
    from headway.sdk.authoring.operator import BaseOperator
    from headway.sdk.bundle.bundle_code import BundleCode


@dataclass(frozen=True, slots=True)
class DagFile:
    """A DAG file that is being loaded: its module's name, where it lies, and the DAGs it made.

    `cron_semantics` is what its bundle says, if anything.  `secrets` are the connections and
    variables that it may read meanwhile; without them it may read none.
    """

    module_name: str
    path: Path
    bundle_root: Path
    dags: "list[DAG]" = field(default_factory=list)
    code: "BundleCode | None" = None
    cron_semantics: CronSemantics | None = None
    secrets: FileSecrets | None = None

    def read(self, path: Path) -> bytes | None:
        """Return the content of a file of the bundle; None if there is no such file.

        Without a version's code the place is opened in any case, of which a parser takes note.
        """
        if self.code is not None:
            inside = self.code.inside(path)
            if inside is None or not self.code.has(inside):
                return None
        try:
            return path.read_bytes()
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def beside(self, name: str) -> Path | None:
        """Return the file or folder of that name beside the DAG file; None if there is none."""
        found = Path(normpath(self.path.parent / name))
        if self.code is not None:
            inside = self.code.inside(found)
            if inside is not None and self.code.has(inside):
                self.code.need(inside)
        return found if found.exists() else None


_making: ContextVar[bool] = ContextVar("making_task", default=False)
_open_scopes: ContextVar["tuple[SetupScope, ...]"] = ContextVar("open_scopes", default=())
_open: ContextVar["tuple[TaskGroup, ...]"] = ContextVar("open_groups", default=())
_file: ContextVar[DagFile | None] = ContextVar("dag_file", default=None)

_OWN_CODE: Final = f"{Path(headway.__file__).parent}/"


def current_dag() -> "DAG | None":
    """Return the DAG whose `with` block this is; the innermost one."""
    groups = _open.get()
    return groups[-1].dag if groups else None


def innermost(dag: "DAG | None") -> "TaskGroup | None":
    """Return the innermost open group of a DAG, which may be that of all in it; or of any DAG."""
    for group in reversed(_open.get()):
        if dag is None or group.dag is dag:
            return group
    return None if dag is None else dag.task_group


def enter(group: "TaskGroup") -> None:
    """Let the tasks that are made from now on belong to `group`, and to its DAG."""
    _open.set((*_open.get(), group))


def leave() -> None:
    """Go back to the group, if any, that was open before."""
    _open.set(_open.get()[:-1])


class MakingTask:
    """Lets what stands for a value be compared in the block, the constructor of an operator."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _making.set(True)

    def __exit__(self, *_: object) -> None:
        _making.reset(self._token)


def is_making_task() -> bool:
    """Tell whether the constructor of an operator is under way."""
    return _making.get()


def enter_scope(scope: "SetupScope") -> None:
    """Let the tasks that are made from now on lie in `scope`, and in those around it."""
    _open_scopes.set((*_open_scopes.get(), scope))


def leave_scope() -> "tuple[SetupScope, SetupScope | None]":
    """Go back to the scope, if any, around the current one; return both."""
    *around, left = _open_scopes.get()
    _open_scopes.set(tuple(around))
    return left, around[-1] if around else None


def tell_scopes(task: "BaseOperator") -> None:
    """Have the open scopes of its DAG take in a task that joins it."""
    for scope in _open_scopes.get():
        if scope.task.dag is task.dag:
            scope.members.append(task)


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


def is_called_by_program() -> bool:
    """Tell whether the file that Python runs as its program calls this, itself."""
    return _program() is not None


def cron_semantics() -> CronSemantics | None:
    """Return what the bundle says of the file that is being loaded, if anything."""
    file = _file.get()
    return None if file is None else file.cron_semantics


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
