"""What a worker tells the child that sends a notification: to whom, and of what."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

from headway.domain.arguments import JsonValue
from headway.runtime.processes.frames import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationOrder:
    """One message: its key, the notifier, and the first of the `events` that it tells.

    `base_url` begins the links; without it a command is named.
    """

    target: ClassVar[str] = "headway_worker.child.notification:run"

    key: str
    event: str
    dag_id: str
    run_id: str
    interval_start: str
    interval_end: str
    connection: str
    subject: str | None
    body: str | None
    to: Sequence[str]
    events: int
    told: Sequence[Mapping[str, JsonValue]]
    base_url: str

    @property
    def environment(self) -> Mapping[str, str]:
        """Nothing: no code of a user runs here."""
        return {}

    def to_frame(self) -> Frame:
        """Return this as plain data."""
        return {
            **asdict(self),
            "to": list(self.to),
            "told": [dict(event) for event in self.told],
        }

    @classmethod
    def from_frame(cls, frame: Frame) -> "NotificationOrder":
        """Return what `to_frame` made the data of."""
        return cls(**frame)
