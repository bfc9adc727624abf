"""Parse a DAG file in a child process."""

import os
import selectors
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from headway.domain.errors import SerializationError
from headway.metrics.parser import CHILDREN_KILLED
from headway.runtime.daemon.clock import Clock
from headway.runtime.forker import Child, ChildSpec, Exit, Forker
from headway.runtime.processes.frames import Frame, FrameReader
from headway_parser.parse.answer import ParsedFile, check_answer, explain_silence, failure
from headway_parser.parse.read_secrets import with_secrets
from headway_parser.secrets.questions import QuestionError, SecretQuestions

_CHUNK: Final = 256 * 2**10


END_SECONDS: Final = 10.0
"""Seconds after which a child that was killed, and has not ended, is given up."""


START_SECONDS: Final = 10.0
"""Seconds that a bundle's fork server has to fork a child."""

NEVER_FORKED: Final = Exit(lost="The fork server of its bundle has not forked it.")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a child may take: seconds, bytes that it prints, bytes of its answer."""

    seconds: float
    output_bytes: int
    answer_bytes: int


@dataclass(slots=True)
class DagFileProcessor:
    """A child that parses the file `path`.  Beyond any of its bounds it is killed.

    With `questions` it may ask for connections and variables until it answers.
    """

    path: str
    bounds: Bounds
    clock: Clock
    child: Child
    started: float
    preloaded: bool
    """Whether it is a child of its bundle's fork server."""

    _output: int
    _reader: FrameReader
    _open: set[int]
    questions: SecretQuestions | None = None
    _printed: bytearray = field(default_factory=bytearray)
    _answer: Frame | None = None
    _refused: str | None = None
    _timed_out: bool = False
    _killed_at: float | None = None
    _exit: Exit | None = None

    @classmethod
    def start(
        cls,
        forker: Forker,
        spec: ChildSpec,
        path: str,
        bounds: Bounds,
        clock: Clock,
        *,
        preloaded: bool = False,
    ) -> "DagFileProcessor":
        """Start parsing."""
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        try:
            child = forker.spawn(spec, writing)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        child.channel.setblocking(False)
        reader, sources = FrameReader(bounds.answer_bytes), {reading, child.channel.fileno()}
        begun = clock.monotonic()
        return cls(path, bounds, clock, child, begun, preloaded, reading, reader, sources)

    @property
    def seconds(self) -> float:
        """How long it has been at it."""
        return self.clock.monotonic() - self.started

    @property
    def was_never_forked(self) -> bool:
        """Whether its bundle's fork server has not even forked it, though it had time to."""
        return self._exit is NEVER_FORKED

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Have `selector` wake up when there is something to poll."""
        selector.register(self.child, selectors.EVENT_READ)
        if self._refused is not None:
            return
        channel = self.child.channel.fileno()
        sends = self.questions is not None and self.questions.has_to_send
        for source in self._open:
            also = selectors.EVENT_WRITE if sends and source == channel else 0
            selector.register(source, selectors.EVENT_READ | also)

    def poll(self) -> ParsedFile | Exit | None:
        """Return what came of it, None while it goes on; never wait."""
        return self.result() if self.has_ended() else None

    def has_ended(self) -> bool:
        """Take what the child says; return whether it is over, or given up.  Never wait."""
        self._exit = self.child.poll()
        self._hear()
        self._listen()
        if self.questions is not None and self._refused is None:
            self.questions.answer(self.child.channel)
        if self._exit is None and self.preloaded and self.child.pid is None:
            self._exit = NEVER_FORKED if self.seconds > START_SECONDS else None
        if self._exit is None:
            self._limit()
        return self._exit is not None or self._is_given_up()

    def result(self) -> ParsedFile | Exit:
        """Return what came of it once it has ended, also after `close`.

        An exit is returned of a child that was lost, by no fault of its file as far as is known.
        """
        result = self._outcome()
        return result if isinstance(result, Exit) else with_secrets(result, self.questions)

    def _outcome(self) -> ParsedFile | Exit:
        if self._exit is None:
            why = self._refused or f"Reading the file took more than {self.bounds.seconds:g} s."
            told = f"{why} Its process could not be stopped, and was given up."
            return failure(told, self._text())
        if self._exit.exceeded is not None:
            return failure(
                f"Reading the file started more than {self._exit.exceeded}, and was stopped. "
                "Start them inside tasks.",
                self._text(),
            )
        if self._refused is not None:
            return failure(self._refused, self._text())
        if self._answer is not None:
            masked = self.questions.masked if self.questions is not None else dict
            return check_answer(self.path, masked(self._answer))
        if self._exit.lost is not None and not self._timed_out:
            return self._exit
        limit = self.bounds.seconds if self._timed_out else None
        waited = self.questions.waits_for if self.questions is not None else ""
        return explain_silence(self._exit, limit, self._text(), waited)

    def close(self) -> None:
        """Let go of the child, and kill it if it still lives."""
        if self.questions is not None:
            self.questions.close()
        self.child.close()
        os.close(self._output)

    def _limit(self) -> None:
        if self.seconds > self.bounds.seconds and not self._timed_out:
            self._timed_out = True
            CHILDREN_KILLED.inc("time")
            self._kill()

    def _kill(self) -> None:
        if self._killed_at is None:
            self._killed_at = self.clock.monotonic()
        self.child.kill()

    def _is_given_up(self) -> bool:
        """Tell whether the child does not end though it was killed."""
        now = self.clock.monotonic()
        return self._killed_at is not None and now >= self._killed_at + END_SECONDS

    def _hear(self) -> None:
        """Take what the child has printed."""
        with suppress(BlockingIOError):
            while self._refused is None and self._output in self._open:
                data = os.read(self._output, _CHUNK)
                self._note_end(self._output, data)
                self._printed += data
                if len(self._printed) > self.bounds.output_bytes:
                    self._refuse(
                        f"Reading the file printed more than {self.bounds.output_bytes:,} bytes, "
                        "and was stopped. Print inside tasks."
                    )

    def _listen(self) -> None:
        """Take what the child answers."""
        channel = self.child.channel
        with suppress(BlockingIOError):
            while self._refused is None and channel.fileno() in self._open:
                try:
                    data = channel.recv(_CHUNK)
                except ConnectionResetError:
                    data = b""
                self._note_end(channel.fileno(), data)
                if self._answer is None or self.questions is not None:
                    self._take(data)

    def _note_end(self, source: int, data: bytes) -> None:
        """Listen no more to what the child has closed: it would always have something to read."""
        if not data:
            self._open.discard(source)

    def _take(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                if self._answer is not None:  # the first one counts, however they come
                    self._note_late()
                elif self.questions is not None and "ask" in frame:
                    self.questions.take(frame)
                else:
                    self._answer = frame
        except QuestionError as error:
            self._refuse(str(error))
        except SerializationError as error:
            self._refuse(f"What the file left behind cannot be used: {error}")

    def _note_late(self) -> None:
        """Have a child ended that may ask, and goes on to write after its answer."""
        if self.questions is not None:
            raise QuestionError(
                "Reading the file asked for a connection or a variable after the file was read, as "
                "a thread does that goes on. Read them at the top level of the file."
            )

    def _refuse(self, why: str) -> None:
        self._refused = why
        CHILDREN_KILLED.inc("refused")
        self._kill()

    def _text(self) -> str:
        text = self._printed.decode("utf-8", "replace")
        return text if self.questions is None else self.questions.mask(text)
