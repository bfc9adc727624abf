"""The end of a log, as a page shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headway.db.reads.pages.attempt_pages import InstanceName
from headway.db.reads.task_views import TaskView
from headway.domain.errors import HeadwayError
from headway_api.airflow.results.log_pieces import LogMessage, messages
from headway_api.airflow.results.stored_logs import attempt_of, log_of
from headway_api.auth.caller import Caller

_BYTES: Final = 65_536
_LINES: Final = 40


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The last lines of a log; `problem` says why there are none."""

    lines: Sequence[LogMessage]
    is_whole: bool
    problem: str = ""


def end_of_log(caller: Caller, task: TaskView, attempt: int, most: int = _LINES) -> LogEnd:
    """Return the last lines of an attempt's log."""
    name = InstanceName(task.dag_id, task.run_id, task.task_id, task.map_index)
    try:
        found = caller.read(lambda conn: attempt_of(caller, conn, name, attempt))
        log = log_of(name, found)
        size = log.place.size(log.relative) or 0
        start = max(0, size - _BYTES)
        lines = [line for piece, _ in log.pieces(start, _BYTES) for line in piece]
    except HeadwayError as error:
        return LogEnd([], is_whole=False, problem=str(error))
    whole = start == 0
    shown = lines if whole else lines[1:]  # the first one may be half a line
    return LogEnd(messages(shown[-most:]), whole and len(shown) <= most)
