"""The worker's own Connect servers: the one that new sessions go to, and those that drain."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from threading import Lock
from typing import Final

from headway.db.core.attempt_keys import AttemptKey
from headway.domain.errors import EmbeddedError
from headway.runtime.daemon.clock import Clock
from headway_worker.spark.server.connect_server import ConnectServer
from headway_worker.spark.server.liveness import answers, resident_bytes
from headway_worker.spark.server.recycling import (
    RecyclingDecision,
    RecyclingLimits,
    ServerCondition,
    decide_recycling,
)

log = logging.getLogger(__name__)

_LOOK_EVERY: Final = 5.0
"""Seconds between two looks at whether a server answers."""

_ANSWER_SECONDS: Final = 2.0
_STOP_GRACE: Final = 5.0
_START_SECONDS: Final = 120.0
"""Seconds that a server may take to listen."""


def _for_ever(_key: AttemptKey) -> float:
    return inf


@dataclass(slots=True)
class _ServerSlot:
    """A server with the attempts that have been sent to it.  Times are monotonic.

    Attempts in `working` may have something running there.
    """

    server: ConnectServer
    started_at: float
    unused_since: float
    answered_at: float
    looked_at: float
    present: set[AttemptKey] = field(default_factory=set)
    working: set[AttemptKey] = field(default_factory=set)
    served: int = 0
    is_replaced: bool = False


@dataclass(slots=True)
class ServerFleet:
    """Keep one server warm for new attempts.

    `start` begins to start one.  Call `board` and `tend` in one thread, which lives as long
    as the servers shall; the others in any.
    """

    start: Callable[[], ConnectServer]
    limits: RecyclingLimits
    clock: Clock
    _current: _ServerSlot | None = None
    _coming: _ServerSlot | None = None
    _leaving: list[_ServerSlot] = field(default_factory=list)
    _until: Callable[[AttemptKey], float] = _for_ever
    _lock: Lock = field(default_factory=Lock)

    @property
    def is_empty(self) -> bool:
        """Whether there is no server."""
        return not self._all()

    def board(self, key: AttemptKey) -> ConnectServer:
        """Send an attempt to a server that lives; it may still be starting."""
        if self._current is None or not self._current.server.is_alive():
            self._forget_current()
            self._current = self._coming or self._new()
            self._coming = None
        with self._lock:
            if key not in self._current.present:
                self._current.present.add(key)
                self._current.served += 1
            self._current.working.add(key)
            self._hold(self._current)
        return self._current.server

    def warm_up(self) -> None:
        """Begin to start a server, unless there is one."""
        if self._current is None or not self._current.server.is_alive():
            self._forget_current()
            self._current = self._new()

    def hold(self, until: Callable[[AttemptKey], float]) -> None:
        """Have each server end, by itself, when the first attempt that works there must have ended.

        `until` tells when that is, and 0 for an attempt that has ended already.
        """
        with self._lock:
            self._until = until
            for slot in self._all():
                self._hold(slot)

    def rest(self, key: AttemptKey) -> None:
        """Take note that nothing of an attempt runs any more on its server."""
        with self._lock:
            for slot in self._all():
                if key in slot.working:
                    slot.working.discard(key)
                    self._hold(slot)

    def leave(self, key: AttemptKey) -> None:
        """Take note that an attempt has ended, and nothing of it is left on its server."""
        self.rest(key)
        with self._lock:
            for slot in self._all():
                if key in slot.present:
                    slot.present.discard(key)
                    slot.unused_since = self.clock.monotonic()

    def of(self, key: AttemptKey) -> ConnectServer | None:
        """Return the server that an attempt was sent to; None when that is dead or was none."""
        with self._lock:
            servers = [slot.server for slot in self._all() if key in slot.present]
        return next((server for server in servers if server.is_alive()), None)

    def folders(self) -> list[Path]:
        """Return the folder of each server."""
        with self._lock:
            return [slot.server.scratch for slot in self._all()]

    def tend(self) -> None:
        """Look after each server: replace one that is worn, end one that nobody needs."""
        self._settle_coming()
        for slot in self._all():
            match decide_recycling(self._condition(slot), self.limits):
                case RecyclingDecision.FORGET:
                    self._forget(slot, "has died")
                case RecyclingDecision.KILL:
                    slot.server.stop(grace=0)
                    self._forget(slot, "did not answer and was killed")
                case RecyclingDecision.STOP:
                    slot.server.stop(_STOP_GRACE)
                    self._forget(slot, "was not needed any more")
                case RecyclingDecision.REPLACE if self._coming is None and not self._leaving:
                    self._replace(slot)
                case _:
                    pass

    def close(self, grace: float) -> None:
        """End every server, and remove what it had written."""
        for slot in self._all():
            slot.server.stop(grace)
            slot.server.clear()

    def _all(self) -> list[_ServerSlot]:
        return [slot for slot in (self._current, self._coming, *self._leaving) if slot]

    def _hold(self, slot: _ServerSlot) -> None:
        moments = [self._until(key) for key in slot.working]
        slot.server.hold_until(min(filter(None, moments), default=inf))

    def _new(self) -> _ServerSlot:
        now = self.clock.monotonic()
        return _ServerSlot(self.start(), now, now, now, now)

    def _replace(self, slot: _ServerSlot) -> None:
        log.info("action=replace_spark pid=%d served=%d", slot.server.pid, slot.served)
        try:
            self._coming = self._new()
        except EmbeddedError as error:
            log.warning("action=replace_spark error=%s", error)

    def _settle_coming(self) -> None:
        """Let a new server take over as soon as it listens."""
        if self._coming is None:
            return
        try:
            listens = self._coming.server.endpoint is not None
        except EmbeddedError as error:
            log.warning("action=replace_spark error=%s", error)
            self._forget(self._coming, "could not start")
            return
        if listens:
            with self._lock:
                if self._current is not None:
                    self._current.is_replaced = True
                    self._leaving.append(self._current)
                self._current, self._coming = self._coming, None

    def _condition(self, slot: _ServerSlot) -> ServerCondition:
        now = self.clock.monotonic()
        alive = slot.server.is_alive()
        if alive and now - slot.looked_at >= _LOOK_EVERY:
            slot.looked_at = now
            if _is_well(slot, now):
                slot.answered_at = self.clock.monotonic()
        return ServerCondition(
            alive=alive,
            is_replaced=slot.is_replaced,
            served=slot.served,
            present=len(slot.present),
            memory_bytes=resident_bytes(slot.server.pid),
            unused=now - slot.unused_since,
            silent=slot.looked_at - slot.answered_at,
        )

    def _forget_current(self) -> None:
        if self._current is not None:
            self._forget(self._current, "has died")

    def _forget(self, slot: _ServerSlot, why: str) -> None:
        log.info("action=end_spark pid=%d served=%d: it %s", slot.server.pid, slot.served, why)
        with self._lock:
            if slot is self._current:
                self._current = None
            elif slot is self._coming:
                self._coming = None
            else:
                self._leaving.remove(slot)
        slot.server.clear()


def _is_well(slot: _ServerSlot, now: float) -> bool:
    """Return whether a server answers; one that is starting need not yet."""
    port = slot.server.port
    if port is None:
        return now - slot.started_at < _START_SECONDS
    return answers(port, _ANSWER_SECONDS)
