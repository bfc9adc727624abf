"""Each missed deadline reached the receiver, once per id unless an acknowledgement was lost."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlalchemy import Engine, text
from tests.chaos.receiver import Post

from headway.db.reads import notification_views

Deadline: TypeAlias = tuple[str, str, str]
"""DAG, run, and name."""

MISSED: Final = text("""
    SELECT run.dag_id, run.run_id, it.name
      FROM deadline AS it JOIN dag_run AS run ON run.id = it.dag_run_id
     WHERE it.state = 'missed'
     ORDER BY it.id
""")
WAITING: Final = text("""
    SELECT (SELECT count(*) FROM deadline WHERE state = 'open' AND due_at < now())
         + (SELECT count(*) FROM notified_event WHERE notification_id IS NULL)
         + (SELECT count(*) FROM notification WHERE ended_at IS NULL)
""")
"""Deadlines that are over and not judged, and what was not sent yet."""

_ALL: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Sent:
    """One message, as the database has it."""

    state: str
    tries: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Telling:
    """What the database has of missed deadlines, and of the messages about them by their ids."""

    missed: Sequence[Deadline]
    sent: Mapping[str, Sent]


def read(engine: Engine) -> Telling:
    """Read what the database has."""
    with engine.connect() as conn:
        missed = [(row.dag_id, row.run_id, row.name) for row in conn.execute(MISSED)]
        rows = notification_views.notifications(conn, limit=_ALL)
    sent = {
        str(notification.key): Sent(notification.state, notification.tries, notification.error)
        for notification in rows
    }
    return Telling(missed, sent)


def violations(telling: Telling, posts: Sequence[Post]) -> list[str]:
    """Return what was not told, or told more often than can be; a try sends one post at most."""
    if not telling.missed:
        return ["no deadline was missed: this proves nothing about them"]
    return [*_of_deadlines(telling, posts), *_of_messages(telling, posts)]


def _of_deadlines(telling: Telling, posts: Sequence[Post]) -> Iterator[str]:
    ids: dict[Deadline, set[str]] = defaultdict(set)
    for post in posts:
        for deadline in post.told:
            ids[deadline].add(post.key)
    missed = Counter(telling.missed)
    for deadline in sorted(missed.keys() | ids.keys()):
        if missed[deadline] != 1:
            yield f"{_named(deadline)} was recorded as missed {missed[deadline]} times"
        if len(ids[deadline]) != 1:
            yield f"{_named(deadline)} was told under {len(ids[deadline])} ids"


def _of_messages(telling: Telling, posts: Sequence[Post]) -> Iterator[str]:
    times = Counter(post.key for post in posts)
    nothing = Sent("not in the database", 0)
    for key in sorted(times.keys() | telling.sent.keys()):
        sent = telling.sent.get(key, nothing)
        if sent.state != "success":
            yield f"message {key} is {sent.state} after {sent.tries} tries: {sent.error}"
        elif times[key] > sent.tries:
            yield f"message {key} came {times[key]} times in {sent.tries} tries"


def _named(deadline: Deadline) -> str:
    dag, run, name = deadline
    return f"{name} of {run} of {dag}"
