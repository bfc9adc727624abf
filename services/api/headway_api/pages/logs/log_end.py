"""The end of a log, as a page of a run or a task instance shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headway.db.reads.pages.attempt_pages import InstanceName
from headway.db.reads.task_views import TaskView
from headway.domain.errors import HeadwayError
from headway_api.airflow.results.stored_logs import attempt_in_run, log_of
from headway_api.auth.caller import Caller
from headway_api.pages.logs import log_window
from headway_api.pages.logs.log_window import ShownLine

_LINES: Final = 40


@dataclass(frozen=True, slots=True)
class LogEnd:
    """The last lines of a log; `problem` says why there are none."""

    lines: Sequence[ShownLine]
    is_whole: bool
    problem: str = ""


def end_of_log(caller: Caller, task: TaskView, attempt: int, most: int = _LINES) -> LogEnd:
    """Return the last lines of the log of an attempt, whose task the caller has read before."""
    name = InstanceName(task.dag_id, task.run_id, task.task_id, task.map_index)
    try:
        found = caller.read(lambda conn: attempt_in_run(caller, conn, name, attempt))
        window = log_window.before(log_of(name, found), None, most)
    except HeadwayError as error:
        return LogEnd([], is_whole=False, problem=str(error))
    return LogEnd(window.lines, is_whole=window.start == 0)
