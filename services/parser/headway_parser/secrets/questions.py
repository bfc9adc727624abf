"""The questions of one child that parses a file: one at a time, and each by its file's bundle."""

from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from socket import socket
from typing import Any, Final

from headway.db.parsing.bundle_secrets import SecretName
from headway.domain.dag.names import check_key
from headway.domain.errors import HeadwayError, SerializationError
from headway.domain.variable import SecretKind
from headway.runtime.masking import Masker
from headway.runtime.processes.frames import Frame, encode_frame
from headway_parser.secrets.answers import SecretAnswer, SecretAnswering
from headway_parser.secrets.dependency import dependency_of

MOST_QUESTIONS: Final = 500
"""Connections and variables that one file may read: each is looked at again in every scan."""


class QuestionError(HeadwayError):
    """The child asks as no DAG file does; it is to be ended."""


@dataclass(slots=True)
class SecretQuestions:
    """What the child that parses a file of `bundle` asks for, and what it is told.

    The bundle is the one that the parser parses the file for: no message of the child names one.
    """

    bundle: str
    answering: SecretAnswering
    states: dict[SecretName, str] = field(default_factory=dict)
    """The names that were answered, with what tells of a change."""
    _masker: Masker = field(default_factory=Masker)
    _count: int = 0
    _asked: tuple[SecretName, Future[SecretAnswer]] | None = None
    _to_send: bytearray = field(default_factory=bytearray)
    _is_over: bool = False

    @property
    def dependencies(self) -> Mapping[str, str]:
        """What the result of the parse depends on, as of files: the states of what was read."""
        return {dependency_of(name): state for name, state in self.states.items()}

    @property
    def waits_for(self) -> str:
        """What the child waits for, in words; empty if it waits for nothing."""
        if self._asked is None:
            return ""
        name, _ = self._asked
        return f"the {name.kind} {name.name!r}"

    @property
    def has_to_send(self) -> bool:
        """Whether the child has not taken all of its answer."""
        return bool(self._to_send)

    def take(self, frame: Frame) -> None:
        """Begin to find the answer to a question; QuestionError for one that is none."""
        name = _name_in(frame)
        if self._asked is not None or self._to_send:
            raise QuestionError(
                "Reading the file asked for a connection or a variable before it had its last "
                "answer, as code does that writes to the parser's channel. Ask by Variable.get "
                "and BaseHook.get_connection."
            )
        self._count += 1
        if self._count > MOST_QUESTIONS:
            raise QuestionError(
                f"Reading the file asked for more than {MOST_QUESTIONS} connections and variables. "
                "Read them inside tasks, or put what belongs together into one variable as JSON."
            )
        self._asked = name, self.answering.ask(self.bundle, name, self._masker, self._has_ended)

    def answer(self, channel: socket) -> None:
        """Send the child what there is for it, and what it takes; never wait."""
        if self._asked is not None and self._asked[1].done():
            name, found = self._asked[0], self._asked[1].result()
            self._asked = None
            if found.state is not None:
                self.states[name] = found.state
            self._to_send += _encoded(found.frame)
        with suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            while self._to_send:
                del self._to_send[: channel.send(self._to_send)]

    def mask(self, text: str) -> str:
        """Return a text of the child without what is secret in its answers."""
        return self._masker.mask(text)

    def masked(self, answer: Frame) -> Frame:
        """Return what the child has told at its end, with what people read of it masked."""
        masked: dict[str, Any] = dict(answer)
        if "error" in answer:
            masked["error"] = self.mask(str(answer["error"]))
        if isinstance(notes := answer.get("notes"), list):
            masked["notes"] = [self.mask(note) for note in notes if isinstance(note, str)]
        return masked

    def close(self) -> None:
        """Have nothing looked for any more."""
        self._is_over = True
        if self._asked is not None:
            self._asked[1].cancel()

    def _has_ended(self) -> bool:
        return self._is_over


def _name_in(frame: Frame) -> SecretName:
    try:
        kind = SecretKind(frame["ask"])
        return SecretName(kind, check_key(kind, frame["name"]))
    except (KeyError, ValueError, HeadwayError):
        raise QuestionError(
            "Reading the file asked its parser for something that is neither a connection nor a "
            "variable. Ask by Variable.get and BaseHook.get_connection."
        ) from None


def _encoded(frame: Frame) -> bytes:
    try:
        return encode_frame(frame)
    except SerializationError:  # as of a text that is no Unicode; the error could quote it
        return encode_frame({"error": "The parser cannot send the value: it is no plain data."})
