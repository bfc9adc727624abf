"""One DAG file being parsed in a child process."""

import os
import selectors
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.domain.errors import SerializationError
from headway.runtime.clock import Clock
from headway.runtime.forker import Child, ChildSpec, Forker
from headway.runtime.frames import Frame, FrameReader
from headway_parser import child as child_program
from headway_parser.answer import ParsedFile, check_answer, explain_silence

LARGEST_ANSWER: Final = 96 * 2**20
"""Bytes of a child's answer beyond which it is refused."""

_CHUNK: Final = 256 * 2**10


@dataclass(slots=True)
class DagFileProcessor:
    """A child that parses the file `path`; what it prints goes nowhere."""

    path: str
    timeout: float
    clock: Clock
    child: Child
    started: float
    timed_out: bool = False
    _reader: FrameReader = field(default_factory=lambda: FrameReader(LARGEST_ANSWER))
    _answer: Frame | None = None
    _refused: str | None = None

    @classmethod
    def start(
        cls, forker: Forker, root: Path, path: str, timeout: float, clock: Clock
    ) -> "DagFileProcessor":
        """Start parsing."""
        spec = ChildSpec(target=child_program.TARGET, argument={"root": str(root), "path": path})
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            child = forker.spawn(spec, nowhere)
        finally:
            os.close(nowhere)
        child.channel.setblocking(False)
        return cls(path, timeout, clock, child, clock.monotonic())

    @property
    def seconds(self) -> float:
        """How long it has been at it."""
        return self.clock.monotonic() - self.started

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Have `selector` wake up when there is something to poll."""
        selector.register(self.child.channel, selectors.EVENT_READ)
        selector.register(self.child, selectors.EVENT_READ)

    def poll(self) -> ParsedFile | None:
        """Return what came of it, None while it goes on; never wait."""
        exited = self.child.poll()
        self._read()
        if exited is None:
            if self.seconds > self.timeout and not self.timed_out:
                self.timed_out = True
                self.child.kill()
            return None
        if self._refused is not None:
            return ParsedFile(error=self._refused)
        if self._answer is None:
            return explain_silence(exited, self.timeout, timed_out=self.timed_out)
        return check_answer(self.path, self._answer)

    def close(self) -> None:
        """Let go of the child, and kill it if it still lives."""
        self.child.close()

    def _read(self) -> None:
        while self._answer is None and self._refused is None:
            try:
                data = self.child.channel.recv(_CHUNK)
            except (BlockingIOError, ConnectionResetError):
                return
            if not data:
                return
            self._take(data)

    def _take(self, data: bytes) -> None:
        try:
            for frame in self._reader.feed(data):
                self._answer = frame
        except SerializationError as error:
            self._refused = f"What the file left behind cannot be used: {error}"
            self.child.kill()
