"""How far an attempt is in Spark, from what the server tells of each operation."""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from headway.domain.spark_work import SparkProgress
from headway.runtime.daemon.clock import Clock

_TELL_EVERY: Final = 0.25
_RATE_OVER: Final = 10.0
"""Seconds over which the rate is measured."""


class Stage(Protocol):
    """What pyspark tells of a stage."""

    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    done: bool


@dataclass(slots=True)
class ProgressMeter:
    """A progress handler of pyspark: it adds operations up, and tells now and then."""

    tell: Callable[[SparkProgress], None]
    clock: Clock
    _stages: dict[int, tuple[int, int, bool]] = field(default_factory=dict)
    _marks: deque[tuple[float, int]] = field(default_factory=deque)
    _told_at: float = float("-inf")

    def __call__(
        self,
        stages: Iterable[Stage] | None,
        inflight_tasks: int,
        operation_id: str | None,
        done: bool,
    ) -> None:
        """Take what is known of an operation."""
        for stage in stages or ():
            self._stages[stage.stage_id] = (stage.num_tasks, stage.num_completed_tasks, stage.done)
        now = self.clock.monotonic()
        if self._stages and (done or now - self._told_at >= _TELL_EVERY):
            self._told_at = now
            self.tell(self._progress(now, 0 if done else inflight_tasks, operation_id))

    def _progress(self, now: float, running: int, operation_id: str | None) -> SparkProgress:
        known = self._stages.values()
        tasks_done = sum(done for _, done, _ in known)
        return SparkProgress(
            stages=len(known),
            stages_done=sum(ended for *_, ended in known),
            tasks=sum(tasks for tasks, *_ in known),
            tasks_done=tasks_done,
            tasks_running=running,
            rate=self._rate(now, tasks_done),
            operation_id=operation_id,
        )

    def _rate(self, now: float, tasks_done: int) -> float:
        self._marks.append((now, tasks_done))
        while len(self._marks) > 2 and now - self._marks[1][0] >= _RATE_OVER:  # noqa: PLR2004
            self._marks.popleft()
        since, before = self._marks[0]
        return 0.0 if now <= since else round((tasks_done - before) / (now - since), 2)
