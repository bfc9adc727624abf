"""What a worker tells a child process: what to run, for which task and attempt."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final, Protocol

from headway.domain.arguments import JsonValue
from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval, PriorRun
from headway.domain.states import RunState, RunType, TaskState
from headway.runtime.processes.frames import Frame
from headway.runtime.settings.layer_use import LayerUse
from headway.sdk.running.facts import RunFacts
from headway_worker.protocol.supply import Code

_MOMENTS: Final = (
    "logical_date",
    "run_after",
    "start_date",
    "started_at",
    "ended_at",
    "queued_at",
    "run_ended_at",
)
"""The dates among the facts, each of which may be unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOrder:
    """One attempt to run: its version's code, the DAG file in there, and the run's facts.

    `attempt_key` names the attempt wherever its work shows up, such as in Spark;
    `spark` is the endpoint of the worker's Spark, as plain data, for tasks that need one.
    `traceparent` is what spans that the task makes are below.  `cron_semantics` are those that the
    version was made with, `parse_secrets` what its file read then of connections and variables.
    `airflow_layer` is when a file that imports `airflow` gets Headway's names.
    One that `is_called_off` only ends what earlier attempts have left on a cluster.
    """

    target: ClassVar = "headway_worker.child.attempt:run"

    code: Code
    relative_path: str
    facts: RunFacts
    attempt_key: str
    max_xcom_bytes: int
    cron_semantics: CronSemantics
    parse_secrets: tuple[str, ...] = ()
    spark: Mapping[str, JsonValue] | None = None
    is_called_off: bool = False
    traceparent: str | None = None
    airflow_layer: LayerUse = LayerUse.AUTO

    @property
    def environment(self) -> Mapping[str, str]:
        """What user code finds in its environment of it."""
        found = {"HEADWAY_ATTEMPT": self.attempt_key}
        return found if self.traceparent is None else {**found, "TRACEPARENT": self.traceparent}

    def to_frame(self) -> Frame:
        """Return this as plain data."""
        return {
            "code": code_to_frame(self.code),
            "relative_path": self.relative_path,
            "attempt_key": self.attempt_key,
            "max_xcom_bytes": self.max_xcom_bytes,
            "cron_semantics": str(self.cron_semantics),
            "parse_secrets": list(self.parse_secrets),
            "spark": None if self.spark is None else dict(self.spark),
            "facts": facts_to_frame(self.facts),
            "is_called_off": self.is_called_off,
            "traceparent": self.traceparent,
            "airflow_layer": str(self.airflow_layer),
        }

    @classmethod
    def from_frame(cls, frame: Frame) -> "TaskOrder":
        """Return what `to_frame` made the data of."""
        return cls(
            code=code_from_frame(frame["code"]),
            relative_path=frame["relative_path"],
            attempt_key=frame["attempt_key"],
            max_xcom_bytes=frame["max_xcom_bytes"],
            cron_semantics=CronSemantics(frame["cron_semantics"]),
            parse_secrets=tuple(frame["parse_secrets"]),
            spark=frame["spark"],
            facts=facts_from_frame(frame["facts"]),
            is_called_off=frame["is_called_off"],
            traceparent=frame["traceparent"],
            airflow_layer=LayerUse(frame["airflow_layer"]),
        )


def code_to_frame(code: Code) -> Frame:
    """Return a version's code as plain data."""
    return {"store": str(code.store), "files": dict(code.files)}


def code_from_frame(frame: Frame) -> Code:
    """Return what `code_to_frame` made the data of."""
    return Code(Path(frame["store"]), frame["files"])


def facts_to_frame(facts: RunFacts) -> Frame:
    """Return what user code is told about a run as plain data."""
    return {
        "dag_id": facts.dag_id,
        "run_id": facts.run_id,
        "task_id": facts.task_id,
        "run_type": str(facts.run_type),
        "interval_start": facts.data_interval.start.isoformat(),
        "interval_end": facts.data_interval.end.isoformat(),
        "conf": dict(facts.conf),
        "try_number": facts.try_number,
        "map_index": facts.map_index,
        "run_state": str(facts.run_state),
        "task_state": str(facts.task_state),
        "hostname": facts.hostname,
        "base_url": facts.base_url,
        **{name: _text(getattr(facts, name)) for name in _MOMENTS},
    }


def facts_from_frame(facts: Frame) -> RunFacts:
    """Return what `facts_to_frame` made the data of."""
    start, end = (datetime.fromisoformat(facts[f"interval_{edge}"]) for edge in ("start", "end"))
    dates = {name: _date(facts[name]) for name in _MOMENTS}
    return RunFacts(
        dag_id=facts["dag_id"],
        run_id=facts["run_id"],
        task_id=facts["task_id"],
        run_type=RunType(facts["run_type"]),
        data_interval=DataInterval(start, end),
        conf=facts["conf"],
        try_number=facts["try_number"],
        map_index=facts["map_index"],
        run_state=RunState(facts["run_state"]),
        task_state=TaskState(facts["task_state"]),
        hostname=facts["hostname"],
        base_url=facts["base_url"],
        logical_date=dates["logical_date"],
        run_after=dates["run_after"],
        start_date=dates["start_date"],
        started_at=dates["started_at"],
        ended_at=dates["ended_at"],
        queued_at=dates["queued_at"],
        run_ended_at=dates["run_ended_at"],
    )


def prior_to_frame(prior: PriorRun | None) -> Frame:
    """Return what user code is told about an earlier run as plain data."""
    if prior is None:
        return {"found": False}
    return {
        "found": True,
        "interval_start": prior.data_interval.start.isoformat(),
        "interval_end": prior.data_interval.end.isoformat(),
        "start_date": prior.start_date.isoformat(),
        "end_date": prior.end_date.isoformat(),
    }


def prior_from_frame(prior: Frame) -> PriorRun | None:
    """Return what `prior_to_frame` made the data of."""
    if not prior["found"]:
        return None
    names = "interval_start", "interval_end", "start_date", "end_date"
    first, last, started, ended = (datetime.fromisoformat(prior[name]) for name in names)
    return PriorRun(DataInterval(first, last), started, ended)


def _text(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()


def _date(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


class ChildOrder(Protocol):
    """What a child is to do: the order that it gets, and who takes it there."""

    @property
    def target(self) -> str:
        """The "package.module:function" that takes the order: a constant."""

    @property
    def environment(self) -> Mapping[str, str]:
        """What user code finds in its environment of it."""

    def to_frame(self) -> Frame:
        """Return the order as plain data."""
