"""Where the log of an attempt lies: a worker writes it there, the command line reads it."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import quote

_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class LogKey:
    """The attempt that a log is of."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    attempt: int

    def path(self, folder: Path) -> Path:
        """Return the log's file below `folder`; no id can lead out of there."""
        return folder.joinpath(
            _segment("dag_id", self.dag_id),
            _segment("run_id", self.run_id),
            _segment("task_id", self.task_id),
            f"map_index={self.map_index}",
            f"attempt={self.attempt}.log",
        )


def logs_folder(home: Path) -> Path:
    """Return the folder of all logs in a Headway home."""
    return home / "logs"


def _segment(kind: str, value: str) -> str:
    # A colon or a plus sign, as dates have them, is fine in a name; a slash never is.
    name = quote(value, safe=" :+,@")
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}~{sha256(value.encode()).hexdigest()[:16]}"
    return f"{kind}={name}"
