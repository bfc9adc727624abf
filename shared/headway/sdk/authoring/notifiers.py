"""Notifiers: what a DAG file gives as `notify=` of a DAG or of a task."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from headway.domain.dag.names import check_key
from headway.domain.dag.notifiers import OF_TASKS, USUAL, NotifierSpec, NotifyEvent
from headway.domain.errors import DagError
from headway.sdk.values import checks
from headway.sdk.values.template_options import template

MAIL: Final = "smtp_default"
"""The connection to the mail server by which `email=` of a task is told."""

_MAILED: Final = {
    NotifyEvent.FAILURE: "email_on_failure",
    NotifyEvent.RETRY: "email_on_retry",
}
_OF_MAIL: Final = frozenset({"email", *_MAILED.values()})
_SEPARATOR: Final = re.compile(r"[\s,;]+")


class Notifier:
    """Tell by a connection of what has happened.

    `on` are events: "failure", "success", "retry" (of tasks only), "missed_deadline", and for a
    DAG also "task_failure", "task_success" and "task_retry".  `subject` and `body` are Jinja
    templates.
    """

    __slots__ = ("spec",)

    def __init__(
        self,
        connection: str,
        *,
        on: str | Iterable[str] = USUAL,
        subject: str | None = None,
        body: str | None = None,
        to: str | Iterable[str] = (),
    ) -> None:
        try:
            name = check_key("connection", connection)
        except DagError as error:
            raise DagError(f"Notifier: {error}") from None
        where = f"Notifier({name!r})"
        self.spec = NotifierSpec(
            connection=name,
            on=_events([on] if isinstance(on, str) else on, f"{where}: on"),
            subject=template(subject, f"{where}: subject"),
            body=template(body, f"{where}: body"),
            to=checks.texts([to] if isinstance(to, str) else to, f"{where}: to"),
        )


def of_dag(value: object, where: str) -> tuple[NotifierSpec, ...]:
    """Accept notifiers of a DAG: a run is never tried again."""
    found = _notifiers(value, where)
    for notifier in found:
        if NotifyEvent.RETRY in notifier.on:
            raise DagError(f"{where}: a run has no retries; for those of tasks say task_retry.")
    return found


def of_task(value: object, where: str) -> tuple[NotifierSpec, ...]:
    """Accept notifiers of a task."""
    found = _notifiers(value, where)
    for event in (event for notifier in found for event in notifier.on if event in OF_TASKS):
        raise DagError(f"{where}: {event} is for a DAG; of a task it is {OF_TASKS[event]}.")
    return found


def by_email(options: Mapping[str, Any]) -> NotifierSpec | None:
    """Return what tells the addresses in `email=`, by mail; None without any.

    They are told of failures and retries, unless `email_on_failure` or `email_on_retry` is False.
    """
    if options.keys().isdisjoint(_OF_MAIL):
        return None
    told = [event for event, name in _MAILED.items() if checks.flag(options.get(name, True), name)]
    given = options.get("email")
    if given is None:
        return None
    addresses = _SEPARATOR.split(given.strip()) if isinstance(given, str) else given
    to = checks.texts(addresses, "email")
    return Notifier(MAIL, on=told, to=to).spec if told and to else None


def _notifiers(value: object, where: str) -> tuple[NotifierSpec, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list | tuple) else [value]
    found: list[NotifierSpec] = []
    for item in items:
        if not isinstance(item, Notifier):
            checks.refuse(where, 'Notifier("a connection"), or a list of such', item)
        found.append(item.spec)
    return tuple(dict.fromkeys(found))


def _events(given: Iterable[str], where: str) -> tuple[NotifyEvent, ...]:
    check = checks.choice(NotifyEvent)
    found = tuple(sorted({NotifyEvent(check(event, where)) for event in given}))
    if not found:
        raise DagError(f"{where} names no event; name one of {', '.join(NotifyEvent)}.")
    return found
