"""Callbacks: the functions that a DAG file has for what happens to its tasks and runs."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk.exceptions import (
    AirflowException,
    AirflowSkipException,
    AirflowTaskTerminated,
    AirflowTaskTimeout,
)
from headway.sdk.running.tracebacks import message_of, traceback_of
from headway.sdk.values import checks

if TYPE_CHECKING:
    from headway.sdk.running.context import Context

Callback: TypeAlias = "Callable[[Context], object]"
Callbacks: TypeAlias = Mapping[CallbackEvent, tuple[Callback, ...]]

_RAISED: Final = {
    Outcome.FAILED: AirflowException,
    Outcome.SKIPPED: AirflowSkipException,
    Outcome.TIMED_OUT: AirflowTaskTimeout,
    Outcome.LOST: AirflowTaskTerminated,
    Outcome.CANCELLED: AirflowTaskTerminated,
}

ON_EXECUTE: Final = "on_execute_callback"
OF_TASK: Final = {f"on_{event}_callback": event for event in CallbackEvent}
"""The event of each option of a task that has functions to call."""

_RUN: Final = {
    name: event
    for name, event in OF_TASK.items()
    if event in (CallbackEvent.SUCCESS, CallbackEvent.FAILURE)
}


def of_task(options: Mapping[str, Any]) -> Callbacks:
    """Return the functions among a task's options, by the event that they are for."""
    return _given(OF_TASK, options)


def of_runs(options: Mapping[str, Any]) -> Callbacks:
    """Return the functions among a DAG's options, which are for its runs."""
    return _given(_RUN, options)


def functions(value: object, where: str) -> tuple[Callback, ...]:
    """Accept a function that takes the context, a list of such, or None."""
    if value is None:
        return ()
    items = value if isinstance(value, list | tuple) else [value]
    for item in items:
        if not callable(item):
            checks.refuse(where, "a function of the context, or a list of such", item)
        if inspect.iscoroutinefunction(item):
            raise DagError(f"{where} is a coroutine function, which nobody would await; use def.")
    return tuple(items)


def tell_why(context: "Context", event: CallbackEvent, reason: str, cause: str | None) -> None:
    """Add to a context why it has come to the event: the outcome of an attempt, and its error.

    The exception itself was in another process: a new one has its text.
    """
    context["reason"] = reason
    if cause is not None and event is not CallbackEvent.SUCCESS:
        context["exception"] = _RAISED[Outcome(reason)](cause)


def call(given: Iterable[Callback], context: "Context") -> list[str]:
    """Call each with the context; return what those that fail say.

    One that fails keeps no other from being called.  Its traceback is printed: it belongs
    into the log.
    """
    problems: list[str] = []
    for function in given:
        try:
            function(context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - each is isolated from the others
            print(traceback_of(error) or message_of(error), flush=True)  # noqa: T201
            problems.append(f"{_name(function)}: {message_of(error)}")
    return problems


def events(given: Callbacks) -> tuple[CallbackEvent, ...]:
    """Return the events that there are functions for, in an order that is always the same."""
    return tuple(sorted(given))


def _given(names: Mapping[str, CallbackEvent], options: Mapping[str, Any]) -> Callbacks:
    if names.keys().isdisjoint(options):  # as of most tasks
        return {}
    return {
        event: found
        for name, event in names.items()
        if name in options and (found := functions(options[name], name))
    }


def _name(function: Callback) -> str:
    return getattr(function, "__qualname__", None) or type(function).__qualname__
