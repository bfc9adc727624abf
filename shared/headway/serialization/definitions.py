"""What a task is, apart from its place in the graph, under a hash of its own.

Its name and what it waits for are no part of it: they are in `dag_task` and `dag_edge`.  So
tasks that do the same share one definition, in whatever DAG and version, and a task that is
only moved keeps its own.
"""

from collections.abc import Sequence
from hashlib import sha256
from json import JSONEncoder
from typing import Any, Final

from pydantic import TypeAdapter

from headway.domain.dag.spec import TaskSpec
from headway.serialization.codec import LATER_OF_INPUTS, LATER_OF_TASKS

_ADAPTER: Final = TypeAdapter(tuple[TaskSpec, ...])
_JSON: Final = JSONEncoder(sort_keys=True, separators=(",", ":"))
_PLACE: Final = ("task_id", "upstream")


def define(tasks: Sequence[TaskSpec]) -> list[tuple[str, str]]:
    """Return the definition of each task: its hash, and its canonical JSON.

    Every field is written out, so that no later release's default changes what was; those that
    came later are only where they say something, so that a definition keeps its hash.
    """
    return [_definition(task) for task in _ADAPTER.dump_python(tuple(tasks), mode="json")]


def _definition(task: dict[str, Any]) -> tuple[str, str]:
    for name in _PLACE:
        del task[name]
    task["mapped_over"] = [_input(each) for each in task["mapped_over"]]
    text = _JSON.encode(
        {name: value for name, value in task.items() if value or name not in LATER_OF_TASKS}
    )
    return sha256(text.encode()).hexdigest(), text


def _input(each: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in each.items() if value or name not in LATER_OF_INPUTS}
    return {**kept, "parts": [_input(part) for part in kept["parts"]]} if "parts" in kept else kept
