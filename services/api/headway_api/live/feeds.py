"""A topic as the accounts of some bundles see it: looked for once, shown to all who watch it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

from sqlalchemy import Connection

from headway.db.reads.live import dag_entries, home_entries, run_entries
from headway.db.reads.live.live_entries import LiveEntries
from headway_api.live import differences, messages
from headway_api.live.differences import Snapshot
from headway_api.live.topics import Topic, TopicKind

if TYPE_CHECKING:
    from headway_api.live.streams import ClientStream

Bundles: TypeAlias = tuple[str, ...] | None

UNFINISHED_EVERY: Final = 0.5
"""Seconds between two looks at what is unfinished: notices do not tell of all its changes."""

EVERY: Final = 15.0
"""Seconds between two looks at anything else, of whose changes notices tell: one can be lost."""

TOO_SLOW_FOR: Final = 30.0
"""Seconds for which a topic is left alone after the database took too long for it."""


@dataclass(slots=True)
class Shown:
    """A topic as it was looked at last; `event` tells all of it, and is made when it is needed."""

    topic: Topic
    at: datetime
    snapshot: Snapshot | None
    digest: str
    size: int
    _event: bytes | None = None

    @property
    def event(self) -> bytes:
        """The event that tells all of the topic."""
        if self._event is None:
            self._event = (
                messages.gone(self.topic, self.at)
                if self.snapshot is None
                else messages.snapshot(self.topic, self.at, self.snapshot)
            )
        return self._event


@dataclass(slots=True, eq=False)
class Feed:
    """A topic within some bundles, with the streams that watch it.

    What was looked at, and when to look again, belongs to the thread that looks; what is shown,
    and the streams, belong to the event loop.
    """

    topic: Topic
    bundles: Bundles
    last: Shown | None = None
    due: float = 0.0
    left_until: float = 0.0
    shown: Shown | None = None
    streams: "set[ClientStream]" = field(default_factory=set)

    @property
    def size(self) -> int:
        """About how many bytes are kept of the topic."""
        return 0 if self.last is None else self.last.size

    def is_due(self, now: float, *, noticed: bool) -> bool:
        """Tell whether to look now: after a notice, or when its time has come."""
        return now >= self.left_until and (noticed or now >= self.due)

    def leave_alone(self, now: float) -> None:
        """Have it looked at no more for a while, for the database took too long."""
        self.due = self.left_until = now + TOO_SLOW_FOR

    def look(self, conn: Connection, at: datetime, now: float) -> "Update | None":
        """Look at the topic, and return what has changed since the last look."""
        found = read(conn, self.topic, self.bundles)
        unfinished = found is not None and found.unfinished
        self.due = now + (UNFINISHED_EVERY if unfinished else EVERY)
        snapshot = None if found is None else found.values
        before = self.last
        if before is not None and before.snapshot == snapshot:
            return None
        digest, size = differences.digest(snapshot), differences.size(snapshot)
        shown = Shown(self.topic, at, snapshot, digest, size)
        self.last = shown
        if before is None or before.snapshot is None or snapshot is None:
            return Update(self, shown, shown.event)
        difference = differences.diff(before.snapshot, snapshot)
        return Update(self, shown, messages.change(self.topic, at, difference))


@dataclass(frozen=True, slots=True)
class Update:
    """What a look has found: the topic as it is now, and the event that leads to it."""

    feed: Feed
    shown: Shown
    event: bytes


def read(conn: Connection, topic: Topic, bundles: Bundles) -> LiveEntries | None:
    """Return what a topic tells of its subject within these bundles, by one statement."""
    return _READS[topic.kind](conn, bundles, topic.names)


def _task(conn: Connection, bundles: Bundles, names: Sequence[str]) -> LiveEntries | None:
    dag_id, run_id, task_id, *index = names
    place = int(index[0]) if index else -1
    return run_entries.task(conn, bundles, dag_id, run_id, task_id, place)


_Read: TypeAlias = Callable[[Connection, Bundles, Sequence[str]], LiveEntries | None]
_READS: Final[dict[TopicKind, _Read]] = {
    TopicKind.HOME: lambda conn, bundles, _names: home_entries.home(conn, bundles),
    TopicKind.POOLS: lambda conn, bundles, _names: home_entries.pools(conn, bundles),
    TopicKind.DAG: lambda conn, bundles, names: dag_entries.dag(conn, bundles, names[0]),
    TopicKind.RUN: lambda conn, bundles, names: run_entries.run(conn, bundles, *names),
    TopicKind.TASK: _task,
    TopicKind.BACKFILL: lambda conn, bundles, names: dag_entries.backfill(
        conn, bundles, int(names[0])
    ),
}
