"""What a running task asks of its worker, and the answers."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

from sqlalchemy.exc import SQLAlchemyError

from headway.db.attempts import Claimed
from headway.db.engine import is_transient
from headway.domain.arguments import JsonValue
from headway.domain.errors import HeadwayError
from headway.runtime.clock import Clock
from headway.runtime.frames import Frame
from headway.runtime.loop import Pace
from headway_worker.chore import RETRYING
from headway_worker.clerk import Clerk, Work
from headway_worker.spark.service import SparkService

log = logging.getLogger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Questions:
    """Answer questions, in a thread that may wait for the database or for Spark.

    While the database is away a question is asked again until `stop`: the task
    knows nothing of it, and its lease decides.
    """

    clerk: Clerk
    spark: SparkService
    clock: Clock
    stop: Event
    pace: Pace = RETRYING

    def answer(self, work: Work, question: Frame) -> Frame:
        """Return the answer, which is an error when the question cannot be answered."""
        try:
            return self._answer(work, question)
        except (HeadwayError, SQLAlchemyError, KeyError, TypeError, ValueError, OSError) as error:
            log.warning("action=no_answer ask=%s error=%s", question.get("ask"), error)
            return {"error": str(error)}

    def _answer(self, work: Work, question: Frame) -> Frame:
        claimed = work.claimed
        match question["ask"]:
            case "pull_xcom" | "pull_xcoms" | "xcom_length" | "xcom_item":
                return self._patiently(lambda: self._read_xcom(claimed, question))
            case "push_xcom":
                key, left = str(question["key"]), question["value"]
                self._patiently(lambda: self.clerk.push_xcom(claimed, key, left))
                return {"saved": True}
            case "save_handle":
                handle: dict[str, JsonValue] = dict(question["handle"])
                self._patiently(lambda: self.clerk.save_handle(claimed, handle))
                return {"saved": True}
            case "spark":
                return self.spark.describe(with_server=bool(question["session"]))
            case unknown:
                return {"error": f"The worker does not know the question {unknown!r}."}

    def _read_xcom(self, claimed: Claimed, question: Frame) -> Frame:
        task_id, key = str(question["task_id"]), str(question["key"])
        match question["ask"]:
            case "pull_xcom":
                map_index = int(question["map_index"])
                value = self.clerk.pull_xcom(claimed, task_id, key, map_index)
                return {"found": False} if value is None else {"found": True, "value": value[0]}
            case "pull_xcoms":
                page = self.clerk.pull_xcoms(claimed, task_id, key, int(question["after"]))
                return {"values": list(page.values()), "last": max(page, default=None)}
            case "xcom_length":
                return {"length": self.clerk.items.length(claimed, task_id, key)}
            case _:
                item = self.clerk.items.item(claimed, task_id, key, int(question["index"]))
                return {"item": item, "pair": isinstance(item, tuple)}

    def _patiently(self, call: Callable[[], T]) -> T:
        failures = 0
        while True:
            try:
                return call()
            except SQLAlchemyError as error:
                if not is_transient(error) or self.stop.is_set():
                    raise
                failures += 1
                self.clock.wait(self.stop, self.pace.retry_after(failures))
