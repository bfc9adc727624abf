"""Questions of tasks on their way to threads that may wait, and the answers on their way back."""

import logging
import selectors
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from headway.domain.errors import SerializationError
from headway.runtime.processes.frames import Frame
from headway_worker.attempts.questions import Questions, TaskAnswer
from headway_worker.supervision.execution import Attempt

log = logging.getLogger(__name__)

FEWEST_THREADS: Final = 8


@dataclass(slots=True)
class Answering:
    """Have questions answered elsewhere; `ring` is called when there is an answer to `send`."""

    questions: Questions
    slots: int
    ring: Callable[[], None]
    _threads: ThreadPoolExecutor = field(init=False)
    _asked: dict[Future[TaskAnswer], tuple[Attempt[Any], Frame]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(max(FEWEST_THREADS, self.slots), "answer")

    def ask(self, attempt: Attempt[Any], question: Frame) -> None:
        """Begin to find the answer."""
        future = self._threads.submit(self._find, attempt, question)
        future.add_done_callback(lambda _: self.ring())
        self._asked[future] = attempt, question

    def send(self, selector: selectors.BaseSelector) -> None:
        """Send the answers that were found, to attempts that are still there."""
        for future in [future for future in self._asked if future.done()]:
            attempt, question = self._asked.pop(future)
            if not attempt.closed:
                _send(attempt, question, future.result(), selector)
            elif question.get("ask") == "spark":
                # It may have been given a place on a server after it had left all that it had.
                self.questions.spark.leave(attempt.work.claimed.key)

    def _find(self, attempt: Attempt[Any], question: Frame) -> TaskAnswer:
        """Find the answer, and mask the secrets in it before it can be sent.

        Indexing secrets takes up to seconds of the thread that does it: of this one, which renews
        no lease.
        """
        answer = self.questions.answer(attempt.work, question)
        if answer.secrets:
            attempt.mask(answer.secrets)
            self.questions.spark.mask(attempt.work.claimed.key, attempt.masker)
        return answer

    def stop(self) -> None:
        """Ask for nothing once more; whoever waits for the database is told that it is away."""
        self.questions.stop.set()

    def close(self) -> None:
        """End the threads; what they wait for must be closed already."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def _send(
    attempt: Attempt[Any], question: Frame, answer: TaskAnswer, selector: selectors.BaseSelector
) -> None:
    attempt.learn(question, answer.frame)
    if "error" in answer.frame:
        log.warning("action=no_answer error=%s", attempt.masker.mask(answer.frame["error"]))
    try:
        attempt.answer(answer.frame, selector)
    except SerializationError:  # as of a text that is no Unicode; the error could quote it
        log.warning("action=no_answer error=The answer cannot be sent to a task.")
        attempt.answer(
            {"error": "The worker cannot send the answer: it is no plain data."}, selector
        )
