"""Conditions of `@task.run_if` and `@task.skip_if`: a task asks them right before its work."""

from collections.abc import Callable
from typing import Final, TypeAlias

from headway.domain.errors import DagError
from headway.sdk.exceptions import AirflowSkipException
from headway.sdk.running.context import Context
from headway.sdk.values.checks import shown

Condition: TypeAlias = Callable[[Context], bool | tuple[bool, str | None]]
"""A function of the context that tells whether something holds; it may give the message too."""

Check: TypeAlias = Callable[[Context], None]
"""What raises AirflowSkipException if the task is not to run."""

_MESSAGE: Final = "The task is skipped by its condition."


def check(condition: Condition, message: str | None, *, runs_if: bool) -> Check:
    """Return what skips a task unless the condition says what it is to say for it to run."""
    if not callable(condition):
        raise DagError(f"A condition must be a function of the context, not {shown(condition)}.")

    def skip(context: Context) -> None:
        said = condition(context)
        holds, own = said if isinstance(said, tuple) else (said, None)
        if bool(holds) is not runs_if:
            raise AirflowSkipException(own or message or _MESSAGE)

    return skip
