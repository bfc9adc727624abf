"""What a notification says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from headway.decide.explain.wording import command, counted
from headway.domain.arguments import JsonValue
from headway.domain.dag.notifiers import NotifyEvent
from headway.domain.errors import HeadwayError
from headway_worker.protocol.notification_order import NotificationOrder

LONGEST_CAUSE: Final = 500
"""Characters of an error that are told; the whole of it is in the log."""

LONGEST_SUBJECT: Final = 200

_HAS: Final[Mapping[str, str]] = {
    NotifyEvent.FAILURE: "failed",
    NotifyEvent.SUCCESS: "succeeded",
    NotifyEvent.RETRY: "to be tried again",
    NotifyEvent.MISSED_DEADLINE: "late",
}


class NotificationError(HeadwayError):
    """A notification cannot be made, or was not taken by whom it is for."""


@dataclass(frozen=True, slots=True)
class Message:
    """A notification, ready to be sent: `key` is the same however often that is tried."""

    key: str
    subject: str
    body: str
    facts: Mapping[str, JsonValue]


def compose(order: NotificationOrder) -> Message:
    """Return the message of a notification, by its templates where it has some.

    NotificationError when a template fails.
    """
    facts = _facts(order)
    subject = _rendered(order.subject, facts, "subject") or _subject(order)
    body = _rendered(order.body, facts, "body") or _body(order)
    one_line = " ".join(subject.split())[:LONGEST_SUBJECT]
    return Message(order.key, one_line, body, facts)


def _subject(order: NotificationOrder) -> str:
    has = _HAS[order.event]
    task = order.told[0]["task_id"] if order.told else None
    if order.events > 1:
        return f"{order.dag_id}: {counted(order.events, 'time')} {has} in {order.run_id}"
    what = f"run {order.run_id}" if task is None else f"task {task} in {order.run_id}"
    return f"{order.dag_id}: {what} {has}"


def _body(order: NotificationOrder) -> str:
    lines = [f"{_subject(order)}.", ""]
    lines += [_line(told) for told in order.told]
    if order.events > len(order.told):
        lines.append(f"... and {order.events - len(order.told):,} more")
    return "\n".join([*lines, "", _link(order)])


def _line(it: Mapping[str, JsonValue]) -> str:
    index = it["map_index"]
    of = "" if index is None or index == -1 else f"[{index}]"
    name = "the run" if it["task_id"] is None else f"{it['task_id']}{of}"
    attempt = "" if it["attempt"] is None else f", attempt {it['attempt']}"
    cause = "" if it["cause"] is None else f": {str(it['cause'])[:LONGEST_CAUSE]}"
    return f"- {name}{attempt}, {it['reason']}{cause}"


def _link(order: NotificationOrder) -> str:
    if not order.base_url:
        return command("runs", "show", order.dag_id, order.run_id)
    dag, run = quote(order.dag_id, safe=""), quote(order.run_id, safe="")
    return f"{order.base_url}/dags/{dag}/runs/{run}"


def _facts(order: NotificationOrder) -> dict[str, JsonValue]:
    return {
        "id": order.key,
        "event": order.event,
        "dag_id": order.dag_id,
        "run_id": order.run_id,
        "data_interval_start": order.interval_start,
        "data_interval_end": order.interval_end,
        "count": order.events,
        "events": [dict(told) for told in order.told],
        "link": _link(order),
    }


def _rendered(template: str | None, facts: Mapping[str, Any], what: str) -> str | None:
    if template is None:
        return None
    from jinja2 import StrictUndefined, TemplateError
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    try:
        return environment.from_string(template).render(**facts)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise NotificationError(
            f"The template of its {what} fails: {error}. It knows {', '.join(facts)}."
        ) from None
