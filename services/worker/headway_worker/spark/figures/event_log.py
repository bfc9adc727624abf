"""The event log of one Spark server, read as it grows, and added up by session."""

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from headway.domain.spark_work import SparkFigures

# Connect tags each job with its session: …_User_headway_Session_<uuid>_Operation_<uuid>.
_SESSION: Final = re.compile(r"_Session_([0-9a-f-]{36})_Operation_")


_WANTED: Final = tuple(
    f'{{"Event":"SparkListener{name}"'.encode()
    for name in ("JobStart", "JobEnd", "StageCompleted", "TaskEnd")
)


SKEW_TASKS: Final = 4


SKEW_MS: Final = 1000
"""Below so many tasks, or when its longest one is shorter, a stage is not judged."""


@dataclass(slots=True)
class _Session:
    figures: SparkFigures = field(default_factory=SparkFigures)
    open_jobs: set[int] = field(default_factory=set)


@dataclass(slots=True)
class EventLogTally:
    """The figures of the sessions of one server, event by event.

    Where `owner` is given, all jobs are of that one, whatever their tags.
    """

    owner: str | None = None
    _sessions: dict[str, _Session] = field(default_factory=dict)
    _jobs: dict[int, str] = field(default_factory=dict)
    _stages: dict[int, str] = field(default_factory=dict)
    _durations: dict[int, list[int]] = field(default_factory=dict)

    def add(self, line: bytes) -> None:
        """Take a line of the log; most events are of no interest, and not even read."""
        if not line.startswith(_WANTED):
            return
        try:
            event = json.loads(line)
        except ValueError:  # a part was lost when the disk was full
            return
        match event["Event"]:
            case "SparkListenerJobStart":
                self._start_job(event)
            case "SparkListenerJobEnd":
                self._end_job(event["Job ID"])
            case "SparkListenerStageCompleted":
                self._end_stage(event["Stage Info"]["Stage ID"])
            case _:
                self._end_task(event)

    def is_busy(self, session_id: str) -> bool:
        """Whether a job of the session is known that has not ended."""
        return bool(self._sessions.get(session_id, _Session()).open_jobs)

    def figures(self, session_id: str) -> SparkFigures:
        """Return what a session took so far."""
        return self._sessions.get(session_id, _Session()).figures

    def forget(self, session_id: str) -> None:
        """Leave a session out that is over."""
        self._sessions.pop(session_id, None)
        stages = [stage for stage, owner in self._stages.items() if owner == session_id]
        for stage in stages:
            del self._stages[stage]
            self._durations.pop(stage, None)

    def _start_job(self, event: Mapping[str, Any]) -> None:
        owner = self.owner or _session_of(event)
        if owner is None:
            return
        self._jobs[event["Job ID"]] = owner
        self._stages.update(dict.fromkeys(event["Stage IDs"], owner))
        session = self._sessions.setdefault(owner, _Session())
        session.open_jobs.add(event["Job ID"])
        session.figures = replace(session.figures, jobs=session.figures.jobs + 1)

    def _end_job(self, job_id: int) -> None:
        # The stages stay known: the tasks of a job that was cancelled end after it.
        session = self._sessions.get(self._jobs.pop(job_id, ""))
        if session is not None:
            session.open_jobs.discard(job_id)

    def _end_stage(self, stage_id: int) -> None:
        session = self._sessions.get(self._stages.get(stage_id, ""))
        durations = self._durations.pop(stage_id, [])
        if session is None:
            return
        figures = session.figures
        skew = _skew(durations)
        worse = skew is not None and (figures.skew is None or skew > figures.skew)
        session.figures = replace(
            figures,
            stages=figures.stages + 1,
            skew=skew if worse else figures.skew,
            skew_stage=stage_id if worse else figures.skew_stage,
        )

    def _end_task(self, event: Mapping[str, Any]) -> None:
        stage_id = event["Stage ID"]
        session = self._sessions.get(self._stages.get(stage_id, ""))
        if session is None:
            return
        session.figures = _with_task(session.figures, event)
        if event["Task End Reason"]["Reason"] == "Success":
            info = event["Task Info"]
            self._durations.setdefault(stage_id, []).append(
                info["Finish Time"] - info["Launch Time"]
            )


def _session_of(event: Mapping[str, Any]) -> str | None:
    found = _SESSION.search((event.get("Properties") or {}).get("spark.job.tags", ""))
    return found[1] if found else None


def _with_task(figures: SparkFigures, event: Mapping[str, Any]) -> SparkFigures:
    metrics = event.get("Task Metrics") or {}
    read, written = metrics.get("Input Metrics", {}), metrics.get("Output Metrics", {})
    fetched = metrics.get("Shuffle Read Metrics", {})
    shuffled = metrics.get("Shuffle Write Metrics", {})
    failed = event["Task End Reason"]["Reason"] != "Success"
    shuffle_read = fetched.get("Remote Bytes Read", 0) + fetched.get("Local Bytes Read", 0)
    spilled = metrics.get("Disk Bytes Spilled", 0)
    return replace(
        figures,
        tasks=figures.tasks + 1,
        tasks_failed=figures.tasks_failed + failed,
        executor_run_ms=figures.executor_run_ms + metrics.get("Executor Run Time", 0),
        executor_cpu_ms=figures.executor_cpu_ms + metrics.get("Executor CPU Time", 0) // 10**6,
        bytes_read=figures.bytes_read + read.get("Bytes Read", 0),
        rows_read=figures.rows_read + read.get("Records Read", 0),
        bytes_written=figures.bytes_written + written.get("Bytes Written", 0),
        rows_written=figures.rows_written + written.get("Records Written", 0),
        shuffle_read_bytes=figures.shuffle_read_bytes + shuffle_read,
        shuffle_write_bytes=figures.shuffle_write_bytes + shuffled.get("Shuffle Bytes Written", 0),
        spilled_bytes=figures.spilled_bytes + spilled,
        peak_memory_bytes=max(figures.peak_memory_bytes, metrics.get("Peak Execution Memory", 0)),
    )


def _skew(durations: list[int]) -> float | None:
    """Return the ratio of the longest task to the median one, of a stage worth judging."""
    if len(durations) < SKEW_TASKS or max(durations) < SKEW_MS:
        return None
    return round(max(durations) / max(median(durations), 1), 2)


log = logging.getLogger(__name__)


FOLDER: Final = "events"
"""The folder, in a server's own, that holds its event log."""


def event_log_conf(scratch: Path) -> dict[str, str]:
    """Return the properties by which a server keeps a log that an EventLog can read."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (scratch / FOLDER).as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "16m",
        "spark.eventLog.includeTaskMetricsAccumulators": "false",
    }


@dataclass(slots=True)
class EventLog:
    """What the log says so far; files that Spark has done with are removed when they are read.

    What cannot be read is read later, if ever.  Use it in one thread.
    """

    scratch: Path
    tally: EventLogTally = field(default_factory=EventLogTally)
    _read: dict[Path, int] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """Whether there is a log at all."""
        return any((self.scratch / FOLDER).glob("*/events_*"))

    def read(self) -> EventLogTally:
        """Take what has been added to the log, whole lines only; return the sums."""
        try:
            files = sorted((self.scratch / FOLDER).glob("*/events_*"), key=_number)
            for file in files:
                self._take(file, is_last=file == files[-1])
        except FileNotFoundError:  # its server has ended, and was cleared away
            pass
        except OSError as error:
            log.warning("action=read_events folder=%s error=%s", self.scratch, error)
        return self.tally

    def _take(self, file: Path, *, is_last: bool) -> None:
        with file.open("rb") as events:
            events.seek(self._read.get(file, 0))
            for line in events:
                if not line.endswith(b"\n"):
                    break
                self.tally.add(line)
                self._read[file] = self._read.get(file, 0) + len(line)
        if not is_last:
            file.unlink(missing_ok=True)
            self._read.pop(file, None)


def _number(file: Path) -> int:
    return int(file.name.split("_")[1])
