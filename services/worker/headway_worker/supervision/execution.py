"""One child process of an attempt or a callback while it runs, as the worker sees it."""

import os
import selectors
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from headway.domain.spark_work import SparkFigures, SparkProgress, outliving
from headway.runtime.forker import Child, ChildLimits, ChildSpec, Exit, Forker
from headway.runtime.logs.lines import LogSource
from headway.runtime.masking import Masker
from headway.runtime.processes.frames import LARGEST_FRAME, Frame, FrameReader, encode_frame
from headway.sdk.harness.execution import Result
from headway_worker.logs.file import LogFile
from headway_worker.protocol.order import ChildOrder
from headway_worker.protocol.result_codec import result_from_frame
from headway_worker.supervision.outcome import ProcessEnd
from headway_worker.supervision.scratch import Scratch

if TYPE_CHECKING:
    from _typeshed import HasFileno

_CHUNK: Final = 64 * 2**10
_MOST_UNREAD: Final = 2 * LARGEST_FRAME
"""Bytes of answers that may wait for a child which does not read them."""

_SECONDS_UNHEARD: Final = 5.0  # for which a child may live on that can say nothing any more

_PRINTED: Final = (LogSource.STDOUT, LogSource.STDERR)
_MOST_READS: Final = 4
"""Chunks taken from a stream at a time, so that a flood of output holds up nobody else."""
MOST_READING: Final = 0.2  # seconds of a step for output: masking it must not delay renewals

W = TypeVar("W")


@dataclass(slots=True)
class Execution(Generic[W]):
    """A child process that runs a task or a callback, its log, and what it has said so far.

    `output` has the pipes of the child's output.  `deadline` is when it has run for too long.
    `outlived_by` is the name of an application on a cluster that goes on without it;
    `cluster_grace` is how many seconds it gets to have that killed.
    """

    work: W
    child: Child
    log: LogFile
    output: Mapping[int, LogSource]
    scratch: Scratch
    deadline: float | None = None
    reader: FrameReader = field(default_factory=FrameReader)
    cluster_grace: float = 0.0
    spark_session: str | None = None
    spark_news: list[SparkProgress | SparkFigures] = field(default_factory=list)
    outlived_by: str | None = None
    result: Result | None = None
    timed_out: bool = False
    cancelled: bool = False
    handed_back: bool = False
    fenced: bool = False
    closed: bool = False
    unheard_since: float | None = None
    stopped_for: str | None = None
    _unsent: bytearray = field(default_factory=bytearray)

    @classmethod
    def start(
        cls,
        work: W,
        order: ChildOrder,
        forker: Forker,
        log: LogFile,
        scratch: Scratch,
        limits: ChildLimits,
    ) -> "Execution[W]":
        """Start the child; its deadline is still to be set."""
        output: dict[int, LogSource] = {}  # _pipe adds to it
        with ExitStack() as unless_started, ExitStack() as childs:
            unless_started.callback(scratch.leave, again=False)
            unless_started.callback(_close, output)
            writing = [_pipe(output, source, childs) for source in _PRINTED]
            spec = ChildSpec(
                target=order.target,
                argument=order.to_frame(),
                directory=str(scratch.path),
                environment={**order.environment, "PYTHONUNBUFFERED": "1"},
                limits=limits,
            )
            child = forker.spawn(spec, *writing)
            unless_started.pop_all()
        child.channel.setblocking(False)
        return cls(work, child, log, output, scratch)

    @property
    def masker(self) -> Masker:
        """What hides the secrets that the attempt was given, in its log and its error."""
        return self.log.masker

    @property
    def _sources(self) -> "list[int | HasFileno]":
        return [self.child, self.child.channel, *self.output]

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Have `selector` report this attempt when there is something to read."""
        for source in self._sources:
            selector.register(source, selectors.EVENT_READ, self)

    def unwatch(self, selector: selectors.BaseSelector) -> None:
        """Undo `watch`."""
        for source in self._sources:
            with suppress(KeyError):  # it has come to its end before
                selector.unregister(source)

    def drain(self, pipe: int, most: int = _MOST_READS) -> bool:
        """Take what the task has printed there; return whether there may be more to come."""
        for _ in range(most):
            try:
                data = os.read(pipe, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self.log.feed(self.output[pipe], data)
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
                elif "progress" in frame:
                    self.spark_news.append(SparkProgress.from_frame(frame["progress"]))
                elif "figures" in frame:
                    self.spark_news.append(SparkFigures.from_frame(frame["figures"]))
                else:
                    questions.append(frame)
        except BlockingIOError:
            return True
        except ConnectionResetError:  # it has ended with answers unread
            return False
        except Exception as error:  # noqa: BLE001 - whatever one child says ends that child alone
            self._give_up(f"The task has spoiled its channel ({error}), and was stopped.")
            return False
        return bool(data)

    def lost_hearing(self, now: float) -> None:
        """Note that the channel has ended, which it does when the child does, or shortly before."""
        self.unheard_since = now

    def enforce_hearing(self, now: float) -> None:
        """Stop the child when it lives on without a channel: it could not say how it ended."""
        if self.unheard_since is None or self.result is not None or self.stopped_for is not None:
            return
        if now >= self.unheard_since + _SECONDS_UNHEARD:
            self._give_up("The task has closed its channel to the worker, and was stopped.")

    def _give_up(self, why: str) -> None:
        self.stopped_for = why
        self.log.say(f"[headway] {why}")
        self.child.kill()

    def answer(self, frame: Frame, selector: selectors.BaseSelector) -> None:
        """Answer a question; `send` goes on with what the child does not take at once."""
        self._unsent += encode_frame(frame)
        self.send(selector)
        if len(self._unsent) > _MOST_UNREAD:
            self._give_up("The task did not read the worker's answers, and was stopped.")

    def mask(self, secrets: Iterable[str]) -> None:
        """Let no log and no error show these from now on; what is too short is not masked."""
        self.masker.prepare(*filter(None, secrets))

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

    @property
    def is_stopped(self) -> bool:
        """Whether the worker has told the child to end, whatever it may still say."""
        return self.timed_out or self.cancelled or self.fenced

    def note(self, question: Frame) -> None:
        """Remember what must be cleaned up if the child is killed."""
        handle = question.get("handle")
        if isinstance(handle, dict):
            self.outlived_by = outliving(handle)
            if handle.get("kind") == "connect":
                self.spark_session = str(handle.get("session_id"))
        if question.get("ask") == "prior_handle":  # until `learn` knows better
            self.outlived_by = "an application of an earlier attempt"

    def learn(self, question: Frame, answer: Frame) -> None:
        """Remember which application of an earlier attempt the child is told of, if of any."""
        if question.get("ask") == "prior_handle" and "found" in answer:
            self.outlived_by = outliving(answer.get("handle"))

    def fence(self) -> None:
        """Kill the child, because the attempt may be another worker's now."""
        if not self.fenced:
            self.fenced = True
            self.log.say("The lease could not be renewed in time; the task is killed.", "ERROR")
            self.child.kill()

    def cancel(self, kill_grace: float) -> None:
        """Stop the child, because a user or its run asks for it."""
        if not self.cancelled:
            self.cancelled = True
            self.log.say("The task was told to stop, by a user or for its run to end.")
            self._stop(kill_grace)

    def hand_back(self, kill_grace: float) -> None:
        """Stop the child, so that another worker may begin it again.

        What it has on a cluster goes on, for the next attempt to find.
        """
        if not (self.handed_back or self.cancelled):
            self.handed_back = True
            self.log.say("The worker is stopping; the task is handed back.")
            if self.outlived_by:
                self.child.kill()
            else:
                self.child.stop(kill_grace)

    def enforce_timeout(self, now: float, kill_grace: float) -> None:
        """Stop the child when it has run for too long."""
        if self.deadline is not None and now >= self.deadline and not self.timed_out:
            self.timed_out = True
            self.log.say("It has run for as long as it may, and is stopped.", "ERROR")
            self._stop(kill_grace)

    def _stop(self, kill_grace: float) -> None:
        """Stop the child; one that has an application on a cluster first sees that one end."""
        self.child.stop(self.cluster_grace if self.outlived_by else kill_grace)

    def ending(self, exit_status: Exit) -> ProcessEnd:
        """Return what is known of the end, when the child has exited."""
        self.child.channel.settimeout(1.0)  # its other end is closed: this waits for nothing
        while self.result is None and self.receive([]):
            pass
        return ProcessEnd(
            exit=exit_status,
            said=self.result,
            timed_out=self.timed_out,
            cancelled=self.cancelled,
            handed_back=self.handed_back,
            stopped_for=self.stopped_for,
            outlived_by=self.outlived_by,
        )

    def close(self, result: Result | None = None) -> None:
        """Take the last of the output, log the result, and let go of everything."""
        if result is None:
            self.shut()
        else:
            self.shut(f"{result.outcome}: {result.error or 'done.'}", result.outcome)

    def shut(self, message: str | None = None, outcome: str | None = None) -> None:
        """Take the last of the output, log how it all ended, and let go of everything."""
        self.closed = True
        for pipe in self.output:
            self.drain(pipe, most=4096)
        _close(self.output)
        self.log.close(message, outcome)
        self.child.close()
        self.scratch.leave(again=self.child.is_gone)


def _pipe(output: dict[int, LogSource], source: LogSource, childs: ExitStack) -> int:
    reading, writing = os.pipe()
    output[reading] = source
    childs.callback(os.close, writing)
    os.set_blocking(reading, False)
    return writing


def _close(files: Iterable[int]) -> None:
    for file in files:
        os.close(file)
