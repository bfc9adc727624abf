"""What a worker tells an attempt's child process: which task to run, and for what."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from headway.domain.arguments import JsonValue
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.runtime.frames import Frame
from headway.sdk.facts import RunFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One attempt to run: the code folder, the DAG file in there, and the run's facts.

    `attempt_key` names the attempt wherever its work shows up, such as in Spark;
    `spark` is the endpoint of the worker's Spark, as plain data, for tasks that need one.
    """

    code: Path
    relative_path: str
    facts: RunFacts
    attempt_key: str
    max_xcom_bytes: int
    spark: Mapping[str, JsonValue] | None = None

    def to_frame(self) -> Frame:
        """Return this as plain data."""
        facts = self.facts
        return {
            "code": str(self.code),
            "relative_path": self.relative_path,
            "attempt_key": self.attempt_key,
            "max_xcom_bytes": self.max_xcom_bytes,
            "spark": None if self.spark is None else dict(self.spark),
            "facts": {
                "dag_id": facts.dag_id,
                "run_id": facts.run_id,
                "task_id": facts.task_id,
                "run_type": str(facts.run_type),
                "interval_start": facts.data_interval.start.isoformat(),
                "interval_end": facts.data_interval.end.isoformat(),
                "logical_date": _text(facts.logical_date),
                "run_after": _text(facts.run_after),
                "start_date": _text(facts.start_date),
                "conf": dict(facts.conf),
                "try_number": facts.try_number,
                "map_index": facts.map_index,
            },
        }

    @classmethod
    def from_frame(cls, frame: Frame) -> "Order":
        """Return what `to_frame` made the data of."""
        facts = frame["facts"]
        start, end = (
            datetime.fromisoformat(facts[f"interval_{edge}"]) for edge in ("start", "end")
        )
        return cls(
            code=Path(frame["code"]),
            relative_path=frame["relative_path"],
            attempt_key=frame["attempt_key"],
            max_xcom_bytes=frame["max_xcom_bytes"],
            spark=frame["spark"],
            facts=RunFacts(
                dag_id=facts["dag_id"],
                run_id=facts["run_id"],
                task_id=facts["task_id"],
                run_type=RunType(facts["run_type"]),
                data_interval=DataInterval(start, end),
                logical_date=_date(facts["logical_date"]),
                run_after=_date(facts["run_after"]),
                start_date=_date(facts["start_date"]),
                conf=facts["conf"],
                try_number=facts["try_number"],
                map_index=facts["map_index"],
            ),
        )


def _text(date: datetime | None) -> str | None:
    return None if date is None else date.isoformat()


def _date(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
