"""What a task instance has left for others, and how the task did in the latest runs."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from headway.db.reads.pages import task_pages, xcom_pages
from headway.db.reads.pages.task_pages import ListedTask, TaskFilter
from headway.db.reads.pages.xcom_pages import ListedXCom, XComFilter, XComName
from headway.db.reads.task_views import TaskView
from headway.domain.xcoms import readable
from headway_api.auth.caller import Caller

LONGEST_VALUE: Final = 2_000
"""Characters of a value that a page shows."""

_XCOMS: Final = 20
_RUNS: Final = 15


@dataclass(frozen=True, slots=True)
class ShownXCom:
    """The key of an XCom, and its value as JSON, or the beginning of that."""

    key: str
    text: str
    is_whole: bool


@dataclass(frozen=True, slots=True)
class TaskResults:
    """The first XComs of a task instance by key, and the task in the latest runs."""

    xcoms: Sequence[ShownXCom]
    more_xcoms: bool
    lately: Sequence[ListedTask]


def task_results(caller: Caller, conn: Connection, task: TaskView) -> TaskResults:
    """Return what a task instance has left, and how the task did lately."""
    wanted = XComFilter(
        dag_id=task.dag_id, run_id=task.run_id, task_id=task.task_id, map_index=task.map_index
    )
    found = xcom_pages.page(conn, caller.page(_XCOMS), wanted)
    same = TaskFilter(dag_id=task.dag_id, task_id=task.task_id, map_indexes=[task.map_index])
    lately = task_pages.page(conn, caller.page(_RUNS, descending=True), same)
    return TaskResults(
        [_shown(caller, conn, it) for it in found.rows], found.following is not None, lately.rows
    )


def _shown(caller: Caller, conn: Connection, it: ListedXCom) -> ShownXCom:
    name = XComName(it.dag_id, it.run_id, it.task_id, it.map_index, it.key)
    found = xcom_pages.value(conn, caller.bundles, name)
    if found is None:
        return ShownXCom(it.key, "", is_whole=True)
    shown = readable(found[0])
    text = json.dumps(shown, ensure_ascii=False, indent=2)
    is_whole = len(text) <= LONGEST_VALUE and shown == found[0]
    return ShownXCom(it.key, text[:LONGEST_VALUE], is_whole)
