"""What a task instance is called: its `map_index_template`, rendered where it runs."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.context.templates import render
from headway.sdk.exceptions import TemplateError
from headway.sdk.running.context import Context

LONGEST_NAME: Final = 250
"""Characters of a name; what is longer is cut short."""


@contextmanager
def naming(task: BaseOperator, context: Context) -> Iterator[None]:
    """Name the instance before the block, as far as its name is known, and after it.

    In between the task may have put something into its context.  A name that cannot be
    rendered fails a task that has succeeded, and no other.
    """
    template = task.spec.map_index_template
    if template is None:
        yield
        return
    before: str | None = None
    with suppress(TemplateError):
        before = _told(template, task, context, None)
    try:
        yield
    except Exception:
        with suppress(TemplateError):
            _told(template, task, context, before)
        raise
    _told(template, task, context, before)


def _told(template: str, task: BaseOperator, context: Context, before: str | None) -> str:
    """Render the name, and tell the supervisor of it if it is another than before."""
    known = Context({**context, "task": task}, context.runtime)
    name = _storable(str(render(template, known, f"{task.where}: map_index_template")))
    if name and name != before:
        context.runtime.name_instance(name)
    return name


def _storable(name: str) -> str:
    name = name.replace("\0", "").encode(errors="replace").decode()
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
