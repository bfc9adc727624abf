"""Find what DAG files ask for in threads that may wait for the database: the parser never does."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Final, Protocol

from sqlalchemy.exc import SQLAlchemyError

from headway.db.core.engine import is_transient
from headway.db.parsing.bundle_secrets import SecretName
from headway.domain.connection import Connection
from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import cause_of
from headway.runtime.daemon.wakeup import Button
from headway.runtime.masking import Masker
from headway.runtime.processes.frames import Frame
from headway_parser.secrets.resolver import FoundSecret

THREADS: Final = 2
"""Threads, each with a connection to the database."""

ASKED_AGAIN: Final = 0.5
"""Seconds until the database is asked again that was away."""


class SecretReader(Protocol):
    """Where connections and variables are found."""

    def read(self, bundle: str, name: SecretName) -> FoundSecret:
        """Return what a file of the bundle gets under that name."""


@dataclass(frozen=True, slots=True)
class SecretAnswer:
    """What a child is told; `state` tells of a change, None if it is not known."""

    frame: Frame = field(repr=False)
    state: str | None = None


@dataclass(slots=True)
class SecretAnswering:
    """The threads that find answers; `button` is pressed whenever there is one."""

    reader: SecretReader
    clock: Clock
    button: Button = field(default_factory=Button)
    _threads: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(THREADS, "secrets")
    )
    _stop: Event = field(default_factory=Event)

    def ask(
        self, bundle: str, name: SecretName, masker: Masker, is_over: Callable[[], bool]
    ) -> Future[SecretAnswer]:
        """Begin to find an answer for a file of the bundle, until the parse `is_over`.

        What is secret in the answer is registered with the masker before there is the answer.
        """
        future = self._threads.submit(self._find, bundle, name, masker, is_over)
        future.add_done_callback(lambda _: self.button.press())
        return future

    def close(self) -> None:
        """End the threads, which may wait for the database as long as one statement may take."""
        self._stop.set()
        self._threads.shutdown(wait=True, cancel_futures=True)
        self.button.close()

    def _find(
        self, bundle: str, name: SecretName, masker: Masker, is_over: Callable[[], bool]
    ) -> SecretAnswer:
        while True:
            try:
                found = self.reader.read(bundle, name)
            except SQLAlchemyError as error:
                if is_transient(error) and not (is_over() or self._stop.is_set()):
                    self.clock.wait(self._stop, ASKED_AGAIN)
                    continue
                return SecretAnswer({"error": _unread(name, error)})
            except Exception as error:  # noqa: BLE001 - here one question is isolated
                return SecretAnswer({"error": _unread(name, error)})
            if found.secret is not None:
                masker.prepare(*found.secret.secrets())
            return _answer(found)


def _answer(found: FoundSecret) -> SecretAnswer:
    if found.refusal is not None:
        return SecretAnswer({"error": found.refusal}, found.state)
    match found.secret:
        case None:
            return SecretAnswer({"text": None}, found.state)
        case Connection() as connection:
            return SecretAnswer({"text": connection.to_json()}, found.state)
        case variable:
            return SecretAnswer({"text": variable.value}, found.state)


def _unread(name: SecretName, error: Exception) -> str:
    return f"The parser cannot read the {name.kind} {name.name!r}: {cause_of(error)}"
