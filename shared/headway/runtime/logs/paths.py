"""Where the logs of attempts and callbacks lie: workers write, the command line reads them."""

import errno
import os
import re
import stat
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

_LONGEST_DAG: Final = 200
_LONGEST_RUN: Final = 80
_LONGEST_TASK: Final = 70
"""Characters of an id in a name; a file system takes 255 bytes for all of a name."""

_HASHED: Final = 17
_OF_RUN: Final = re.compile(r"run_id=([^=]*?)(?:,(?:task_id|callback|notification)=.*)?")
"""The name of a log, or of a run's folder of earlier releases: no id has a plain `=`."""


@dataclass(frozen=True, slots=True)
class LogKey:
    """The attempt that a log is of."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    attempt: int

    @property
    def relative(self) -> Path:
        """The log's file within the folder of all logs; no id can lead out of there.

        A DAG has one folder: a folder for each task would take more room than most logs.
        """
        run = _segment("run_id", self.run_id, _LONGEST_RUN)
        task = _segment("task_id", self.task_id, _LONGEST_TASK)
        name = f"{run},{task},map_index={self.map_index},attempt={self.attempt}.log"
        return Path(_segment("dag_id", self.dag_id), name)

    @property
    def former(self) -> Path:
        """Where releases before had it."""
        return Path(
            _segment("dag_id", self.dag_id),
            _segment("run_id", self.run_id),
            _segment("task_id", self.task_id),
            f"map_index={self.map_index},attempt={self.attempt}.log",
        )


@dataclass(frozen=True, slots=True)
class CallbackLogKey:
    """The try of a callback, or notification, that a log is of: each may be another worker's."""

    dag_id: str
    run_id: str
    callback: int
    number: int
    kind: str = "callback"

    @property
    def relative(self) -> Path:
        """The log's file within the folder of all logs, beside those of the run's tasks."""
        run = _segment("run_id", self.run_id, _LONGEST_RUN)
        name = f"{run},{self.kind}={self.callback},try={self.number}.log"
        return Path(_segment("dag_id", self.dag_id), name)

    @property
    def former(self) -> Path:
        """Where releases before had it."""
        return Path(
            _segment("dag_id", self.dag_id),
            _segment("run_id", self.run_id),
            f"{self.kind}={self.callback},try={self.number}.log",
        )


def run_of(relative: Path) -> tuple[str, str] | None:
    """Return the DAG and the run that a log is of; None where its path does not tell.

    An id that was too long is cut, and does not come back from what is left of it.
    """
    folder, *names = relative.parts
    dag, run = folder.removeprefix("dag_id="), _OF_RUN.fullmatch(names[0] if names else "")
    if dag == folder or run is None or _is_cut(dag) or _is_cut(run[1]):
        return None
    return unquote(dag), unquote(run[1])


def _is_cut(name: str) -> bool:
    return len(name) > _HASHED and name[-_HASHED] == "~"


def logs_folder(home: Path) -> Path:
    """Return the folder of all logs in a Headway home."""
    return home / "logs"


def create_log(folder: Path, relative: Path) -> int:
    """Open a file below `folder` to write to its end, made with its folders; OSError if it cannot.

    Links on the way are not looked for: a task that leads its worker elsewhere has it write
    where the task itself could write.
    """
    path = folder / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    file = os.open(path, flags, 0o600)
    _check_regular(file, path)
    os.lseek(file, 0, os.SEEK_END)
    return file


def open_log(folder: Path, relative: Path) -> int:
    """Open a file below `folder` to read, and return its descriptor.

    OSError when it is not there, when any part of its path below `folder` is a link, or when it
    is no regular file: tasks can write where their logs lie, and must not choose what is read.
    """
    if relative.is_absolute() or ".." in relative.parts:
        raise ValueError(f"{relative} is no path below a folder.")
    at = os.open(folder, os.O_DIRECTORY)
    try:
        for part in relative.parts[:-1]:
            above, at = at, os.open(part, os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
            os.close(above)
        file = os.open(relative.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
    finally:
        os.close(at)
    _check_regular(file, folder / relative)
    return file


def _check_regular(file: int, path: Path) -> None:
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "This is no regular file", str(path))


def _segment(kind: str, value: str, longest: int = _LONGEST_DAG) -> str:
    # A colon or a plus sign, as dates have them, is fine in a name; a slash never is.
    name = quote(value, safe=" :+,@")
    if len(name) > longest:
        name = f"{name[:longest]}~{sha256(value.encode()).hexdigest()[:16]}"
    return f"{kind}={name}"
