"""What a driver's REST interface says of its stages, added up.  Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from headway.domain.spark_work import SparkFigures
from headway_worker.spark.figures.event_log import SKEW_MS, SKEW_TASKS

StageKey: TypeAlias = tuple[int, int]
"""The id of a stage, and which attempt at it."""

_SKIPPED: Final = "SKIPPED"
_ENDED: Final = ("COMPLETE", "FAILED")

# What Spark logs when its web interface is there, at the level INFO.
_JETTY: Final = re.compile(r"Start Jetty ([^\s:]+|\[[^\s\]]+\]):\d+ for SparkUI")
_PORT: Final = re.compile(r"Successfully started service 'SparkUI' on port (\d{1,5})\.")
_EVERYWHERE: Final = ("0.0.0.0", "[::]")  # noqa: S104 - nothing is bound here
_HERE: Final = "127.0.0.1"


@dataclass(slots=True)
class StageCount:
    """How far a stage is, all attempts at it together: what a ProgressMeter takes."""

    stage_id: int
    num_tasks: int
    num_completed_tasks: int
    done: bool


@dataclass(slots=True)
class StageBook:
    """What is known of all stages of a driver, also of those that it shows no longer.

    Answers are plain data as the interface gives it; ValueError, KeyError or TypeError when
    one is nothing of the kind.
    """

    _stages: dict[StageKey, Mapping[str, Any]] = field(default_factory=dict)
    _jobs: set[int] = field(default_factory=set)
    _skews: dict[StageKey, float] = field(default_factory=dict)
    _peaks: dict[StageKey, int] = field(default_factory=dict)

    def take(self, stages: Iterable[Mapping[str, Any]], jobs: Iterable[Mapping[str, Any]]) -> None:
        """Take the answers on stages and jobs: all of both, or neither."""
        known = {
            (int(stage["stageId"]), int(stage["attemptId"])): _numbers(stage) for stage in stages
        }
        self._jobs |= {int(job["jobId"]) for job in jobs}
        self._stages |= known

    def to_judge(self) -> list[StageKey]:
        """Return the stages that are over, worth judging by their tasks, and not judged yet.

        That may be for their skew, or for the memory of one task: a stage tells that of all
        its tasks together, which a single one may not exceed.
        """
        known = max(self._peaks.values(), default=0)
        return [
            key
            for key, stage in self._stages.items()
            if stage["status"] in _ENDED
            and key not in self._skews
            and (
                _may_be_skewed(stage)
                or (stage["numTasks"] > 1 and stage["peakExecutionMemory"] > known)
            )
        ]

    def judge(self, key: StageKey, summary: Mapping[str, Any]) -> None:
        """Take the answer on the tasks of a stage, at the quantiles 0.5 and 1."""
        durations = summary["duration"] if "duration" in summary else summary["executorRunTime"]
        median, longest = (float(duration) for duration in durations)
        is_skewed = _may_be_skewed(self._stages[key]) and longest >= SKEW_MS
        self._peaks[key] = int(summary.get("peakExecutionMemory", (0, 0))[1])
        self._skews[key] = round(longest / max(median, 1), 2) if is_skewed else 0.0

    def give_up(self, key: StageKey) -> None:
        """Take note that a stage cannot be judged."""
        self._skews[key] = 0.0

    @property
    def running(self) -> int:
        """How many tasks run now."""
        return sum(
            stage["numActiveTasks"]
            for stage in self._stages.values()
            if stage["status"] == "ACTIVE"
        )

    def counts(self) -> list[StageCount]:
        """Return how far each stage is; those are left out whose result is there already.

        What an attempt at a stage has left undone when it failed is the next one's to do.
        """
        found: dict[int, StageCount] = {}
        for (stage_id, _), stage in sorted(self._stages.items()):
            if stage["status"] == _SKIPPED:
                continue
            before = found.get(stage_id, StageCount(stage_id, 0, 0, True))
            finished = min(stage["numCompleteTasks"], stage["numTasks"])
            tasks = finished if stage["status"] == "FAILED" else stage["numTasks"]
            found[stage_id] = StageCount(
                stage_id,
                before.num_tasks + tasks,
                before.num_completed_tasks + finished,
                stage["status"] in _ENDED,
            )
        return list(found.values())

    def figures(self) -> SparkFigures:
        """Return what all of it took so far."""
        begun = [stage for stage in self._stages.values() if stage["status"] != _SKIPPED]

        def total(*names: str) -> int:
            return sum(stage[name] for stage in begun for name in names)

        failed = total("numFailedTasks", "numKilledTasks")
        skew, worst = max(((skew, key) for key, skew in self._skews.items()), default=(0.0, (0, 0)))
        return SparkFigures(
            jobs=len(self._jobs),
            stages=sum(stage["status"] in _ENDED for stage in begun),
            tasks=total("numCompleteTasks") + failed,
            tasks_failed=failed,
            executor_run_ms=total("executorRunTime"),
            executor_cpu_ms=total("executorCpuTime") // 10**6,
            bytes_read=total("inputBytes"),
            rows_read=total("inputRecords"),
            bytes_written=total("outputBytes"),
            rows_written=total("outputRecords"),
            shuffle_read_bytes=total("shuffleReadBytes"),
            shuffle_write_bytes=total("shuffleWriteBytes"),
            spilled_bytes=total("diskBytesSpilled"),
            peak_memory_bytes=max(map(self._peak, self._stages), default=0),
            skew=skew or None,
            skew_stage=worst[0] if skew else None,
        )

    def _peak(self, key: StageKey) -> int:
        """Return the most memory that a task of the stage had; of one not judged, the average."""
        it = self._stages[key]
        ended = it["numCompleteTasks"] + it["numFailedTasks"] + it["numKilledTasks"]
        average: int = it["peakExecutionMemory"] // max(ended, 1)
        return self._peaks.get(key, average)


@dataclass(slots=True)
class Announcement:
    """Finds the address of a driver's web interface in what the driver logs, line by line."""

    _host: str = _HERE

    def hear(self, line: str) -> str | None:
        """Take a line; return the address, as http://host:port, when this one completes it."""
        if found := _JETTY.search(line):
            self._host = _HERE if found[1] in _EVERYWHERE else found[1]
        port = _PORT.search(line)
        return f"http://{self._host}:{port[1]}" if port else None


_COUNTS: Final = (
    *("numTasks", "numActiveTasks", "numCompleteTasks", "numFailedTasks", "executorRunTime"),
    *("executorCpuTime", "inputBytes", "inputRecords", "outputBytes", "outputRecords"),
    *("shuffleReadBytes", "shuffleWriteBytes", "diskBytesSpilled"),
)
_LATER: Final = ("numKilledTasks", "peakExecutionMemory")
"""What the interface of an old Spark has not."""


def _may_be_skewed(stage: Mapping[str, Any]) -> bool:
    return bool(stage["numCompleteTasks"] >= SKEW_TASKS and stage["executorRunTime"] >= SKEW_MS)


def _numbers(stage: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is used of a stage: the rest, with its stack traces, is large."""
    given: Sequence[tuple[str, Any]] = [
        *((name, stage[name]) for name in _COUNTS),
        *((name, stage.get(name, 0)) for name in _LATER),
    ]
    return {"status": str(stage["status"]), **{name: max(int(number), 0) for name, number in given}}
