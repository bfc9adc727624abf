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
from headway_worker.supervision.execution import Execution

log = logging.getLogger(__name__)

FEWEST_THREADS: Final = 8


@dataclass(slots=True)
class Answering:
    """Have questions answered elsewhere; `ring` is called when there is an answer to `send`."""

    questions: Questions
    slots: int
    ring: Callable[[], None]
    _threads: ThreadPoolExecutor = field(init=False)
    _asked: dict[Future[TaskAnswer], tuple[Execution[Any], Frame]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(max(FEWEST_THREADS, self.slots), "answer")

    def ask(self, execution: Execution[Any], question: Frame) -> None:
        """Begin to find the answer."""
        future = self._threads.submit(self._find, execution, question)
        future.add_done_callback(lambda _: self.ring())
        self._asked[future] = execution, question

    def send(self, selector: selectors.BaseSelector) -> None:
        """Send the answers that were found, to attempts that are still there."""
        for future in [future for future in self._asked if future.done()]:
            execution, question = self._asked.pop(future)
            if not execution.closed:
                _send(execution, question, future.result(), selector)
            elif question.get("ask") == "spark":
                # It may have been given a place on a server after it had left all that it had.
                self.questions.spark.leave(execution.work.claimed.key)

    def _find(self, execution: Execution[Any], question: Frame) -> TaskAnswer:
        """Find the answer, and mask the secrets in it before it can be sent.

        Indexing secrets takes up to seconds of the thread that does it: of this one, which renews
        no lease.
        """
        answer = self.questions.answer(execution.work, question)
        if answer.secrets:
            execution.mask(answer.secrets)
            self.questions.spark.mask(execution.work.claimed.key, execution.masker)
        return answer

    def stop(self) -> None:
        """Ask for nothing once more; whoever waits for the database is told that it is away."""
        self.questions.stop.set()

    def close(self) -> None:
        """End the threads; what they wait for must be closed already."""
        self._threads.shutdown(wait=True, cancel_futures=True)


def _send(
    execution: Execution[Any], question: Frame, answer: TaskAnswer, selector: selectors.BaseSelector
) -> None:
    execution.learn(question, answer.frame)
    if "error" in answer.frame:
        log.warning("action=no_answer error=%s", execution.masker.mask(answer.frame["error"]))
    try:
        execution.answer(answer.frame, selector)
    except SerializationError:  # as of a text that is no Unicode; the error could quote it
        log.warning("action=no_answer error=The answer cannot be sent to a task.")
        execution.answer(
            {"error": "The worker cannot send the answer: it is no plain data."}, selector
        )
