"""Follow the attempts of a task: which one to read, for how long, and when it is over."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Final

from headway.domain.errors import AttemptNotFoundError, LogsError
from headway.runtime.daemon.clock import Clock
from headway.runtime.logs.lines import decode
from headway.runtime.logs.reading import LocalLogs, LogReader

LOOK_INTERVAL: Final = 1.0
"""Seconds between two questions to the database, and between two to a remote store."""

READ_INTERVAL: Final = 0.2
"""Seconds between two looks into a file of this machine."""


@dataclass(frozen=True, slots=True)
class FollowedTask:
    """The attempts of a task that have started, each with whether it has ended.

    `over` says that there will be no other one.
    """

    attempts: Mapping[int, bool]
    over: bool


@dataclass(slots=True)
class Follower:
    """Read the log of the last attempt, or of `only` one, and then of those that follow it.

    An attempt's last line says how it ended.  One whose worker died has none: when it has ended,
    and for `patience` seconds nothing comes any more, it is `cut_short`.  While logs cannot be
    read nothing comes; LogsError when that lasts for longer than `patience`.
    """

    look: Callable[[], FollowedTask]
    read: Callable[[int], LogReader]
    clock: Clock
    only: int | None = None
    patience: float = 10.0
    done: bool = False
    cut_short: int = 0
    pause: float = READ_INTERVAL
    _task: FollowedTask = FollowedTask({}, over=False)
    _looked_at: float = -inf
    _number: int = 0
    _reader: LogReader | None = None
    _silent_since: float | None = None
    _failing_since: float | None = None

    def step(self) -> Iterator[bytes]:
        """Yield the lines that have come; then `done` says whether that is all."""
        if self.clock.monotonic() >= self._looked_at + LOOK_INTERVAL:
            self._task, self._looked_at = self.look(), self.clock.monotonic()
        self.cut_short = 0
        if self._reader is None:
            self._choose()
        if self._reader is not None:
            yield from self._read(self._reader)

    def _choose(self) -> None:
        started = [attempt for attempt in self._task.attempts if attempt > self._number]
        if self.only is not None:
            started = [attempt for attempt in started if attempt == self.only]
        if started:
            # The attempts before the one that is the last now are history; later ones are not.
            self._number = started[0] if self._number else started[-1]
            self._reader = self.read(self._number)
            return
        self.pause = LOOK_INTERVAL
        self.done = self._task.over
        if self.done and not self._number:
            raise AttemptNotFoundError("The task is over, and no such attempt of it has started.")

    def _read(self, reader: LogReader) -> Iterator[bytes]:
        # Before the log is read: what has ended by then has written all that it ever will.
        has_ended = self._task.attempts.get(self._number, True)
        came = is_last = False
        try:
            for line in reader.lines():
                yield line
                came, is_last = True, decode(line).outcome is not None
            self._failing_since = None
        except LogsError:
            if self._fails_for_long():
                raise
        is_local = isinstance(reader.source, LocalLogs)
        self.pause = READ_INTERVAL if is_local else LOOK_INTERVAL
        if is_last or (has_ended and self._is_silent(came=came)):
            self.cut_short = 0 if is_last else self._number
            self._task = self.look()  # that it has ended is not all that may have happened
            if rest := reader.rest():
                yield rest
            self._reader = self._silent_since = self._failing_since = None
            self.done = self.only is not None

    def _fails_for_long(self) -> bool:
        now = self.clock.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        return now - self._failing_since > self.patience

    def _is_silent(self, *, came: bool) -> bool:
        now = self.clock.monotonic()
        if came or self._silent_since is None:
            self._silent_since = now
        return now - self._silent_since > self.patience
