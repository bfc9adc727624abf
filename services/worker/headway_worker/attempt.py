"""One attempt while it runs, as its worker sees it."""

import os
import selectors
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway.domain.errors import SerializationError
from headway.runtime.forker import Child, ChildSpec, Exit, Forker
from headway.runtime.frames import LARGEST_FRAME, Frame, FrameReader, encode_frame
from headway.sdk.execution import Result
from headway_worker import child as child_program
from headway_worker.clerk import Work
from headway_worker.conclusion import Ending
from headway_worker.log_file import LogFile
from headway_worker.order import Order
from headway_worker.words import result_from_frame

_CHUNK: Final = 64 * 2**10
_MOST_UNREAD: Final = 2 * LARGEST_FRAME
"""Bytes of answers that may wait for a child which does not read them."""

_MOST_READS: Final = 16
"""Chunks taken from a log at a time, so that a flood of output holds up nobody else."""


@dataclass(slots=True)
class Attempt:
    """A child process that runs a task, its log, and what it has said so far.

    `deadline` is monotonic: when the task has run for too long.
    """

    work: Work
    child: Child
    log: LogFile
    log_pipe: int
    scratch: Path
    deadline: float | None = None
    reader: FrameReader = field(default_factory=FrameReader)
    spark_session: str | None = None
    result: Result | None = None
    timed_out: bool = False
    cancelled: bool = False
    handed_back: bool = False
    fenced: bool = False
    _unsent: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(
        cls, work: Work, order: Order, forker: Forker, log: LogFile, scratch: Path
    ) -> "Attempt":
        """Start the child; its deadline is still to be set."""
        scratch.mkdir(parents=True, exist_ok=True)
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        spec = ChildSpec(
            target=child_program.TARGET,
            argument=order.to_frame(),
            directory=str(scratch),
            environment={"HEADWAY_ATTEMPT": order.attempt_key, "PYTHONUNBUFFERED": "1"},
        )
        try:
            child = forker.spawn(spec, writing)
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        child.channel.setblocking(False)
        return cls(work, child, log, reading, scratch)

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Have `selector` report this attempt when there is something to read."""
        for source in (self.child, self.child.channel, self.log_pipe):
            selector.register(source, selectors.EVENT_READ, self)

    def unwatch(self, selector: selectors.BaseSelector) -> None:
        """Undo `watch`."""
        for source in (self.child, self.child.channel, self.log_pipe):
            if source in selector.get_map():
                selector.unregister(source)

    def drain_log(self, most: int = _MOST_READS) -> bool:
        """Take what the task has printed; return whether there may be more to come."""
        for _ in range(most):
            try:
                data = os.read(self.log_pipe, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.log.feed(data)
        return True

    def receive(self, questions: list[Frame]) -> bool:
        """Take what the child says: questions are added to the list, its result is kept.

        Return whether there may be more to come.
        """
        try:
            data = self.child.channel.recv(_CHUNK)
            for frame in self.reader.feed(data):
                if "result" in frame:
                    self.result = result_from_frame(frame["result"])
                else:
                    questions.append(frame)
        except BlockingIOError:
            return True
        except (OSError, SerializationError, ValueError, TypeError, KeyError) as error:
            self.log.say(f"[headway] The task has spoiled its channel ({error}); it is stopped.")
            self.child.kill()
            return False
        return bool(data)

    def answer(self, frame: Frame, selector: selectors.BaseSelector) -> None:
        """Answer a question; `send` goes on with what the child does not take at once."""
        self._unsent += encode_frame(frame)
        self.send(selector)
        if len(self._unsent) > _MOST_UNREAD:
            self.log.say("[headway] The task does not read its answers; it is stopped.")
            self.child.kill()

    def send(self, selector: selectors.BaseSelector) -> None:
        """Send what waits, as far as the child takes it.  A child that has gone needs none.

        Nothing more is heard of a child until it has taken its answers.
        """
        try:
            while self._unsent:
                del self._unsent[: self.child.channel.send(self._unsent)]
        except BlockingIOError:
            pass
        except OSError:
            self._unsent.clear()
            self.child.kill()
        if self.child.channel in selector.get_map():
            direction = selectors.EVENT_WRITE if self._unsent else selectors.EVENT_READ
            selector.modify(self.child.channel, direction, self)

    def note(self, question: Frame) -> None:
        """Remember what must be cleaned up if the child is killed."""
        handle = question.get("handle")
        if isinstance(handle, dict) and handle.get("kind") == "connect":
            self.spark_session = str(handle.get("session_id"))

    def fence(self) -> None:
        """Kill the child, because the attempt may be another worker's now."""
        if not self.fenced:
            self.fenced = True
            self.log.say("[headway] The lease could not be renewed in time; the task is killed.")
            self.child.kill()

    def cancel(self, kill_grace: float) -> None:
        """Stop the child, because a user or its run asks for it."""
        if not self.cancelled:
            self.cancelled = True
            self.log.say("[headway] The task was told to stop, by a user or for its run to end.")
            self.child.stop(kill_grace)

    def enforce_timeout(self, now: float, kill_grace: float) -> None:
        """Stop the child when it has run for too long."""
        if self.deadline is not None and now >= self.deadline and not self.timed_out:
            self.timed_out = True
            self.log.say("[headway] The task has reached its execution_timeout; it is stopped.")
            self.child.stop(kill_grace)

    def ending(self, exit_status: Exit) -> Ending:
        """Return what is known of the end, when the child has exited."""
        self.child.channel.settimeout(1.0)  # its other end is closed: this waits for nothing
        while self.result is None and self.receive([]):
            pass
        return Ending(
            exit=exit_status,
            said=self.result,
            timed_out=self.timed_out,
            cancelled=self.cancelled,
            handed_back=self.handed_back,
        )

    def close(self) -> None:
        """Take the last of the log and let go of everything."""
        self.drain_log(most=4096)
        os.close(self.log_pipe)
        self.log.close()
        self.child.close()
        shutil.rmtree(self.scratch, ignore_errors=True)
