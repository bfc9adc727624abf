"""What a worker tells the child of a callback: which functions to call, and for what."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.cron_semantics import CronSemantics
from headway.runtime.processes.frames import Frame
from headway.runtime.settings.layer_use import LayerUse
from headway.sdk.running.facts import RunFacts
from headway_worker.protocol.order import (
    code_from_frame,
    code_to_frame,
    facts_from_frame,
    facts_to_frame,
)
from headway_worker.protocol.supply import Code


@dataclass(frozen=True, slots=True, kw_only=True)
class CallbackOrder:
    """One event to call functions for: of a task, or of the run when `of_run`.

    `reason` tells why it has come to it, and `cause` is the error of the attempt that has ended.
    `cron_semantics` are those that the version was made with, `parse_secrets` what its file read
    then of connections and variables.
    """

    target: ClassVar[str] = "headway_worker.child.callback:run"

    key: str
    code: Code
    relative_path: str
    facts: RunFacts
    event: CallbackEvent
    of_run: bool
    reason: str
    cause: str | None
    cron_semantics: CronSemantics
    parse_secrets: tuple[str, ...] = ()
    airflow_layer: LayerUse = LayerUse.AUTO

    @property
    def environment(self) -> Mapping[str, str]:
        """What user code finds in its environment of it: the same each time that it is begun."""
        return {"HEADWAY_CALLBACK": self.key}

    def to_frame(self) -> Frame:
        """Return this as plain data."""
        return {
            "key": self.key,
            "code": code_to_frame(self.code),
            "relative_path": self.relative_path,
            "facts": facts_to_frame(self.facts),
            "event": str(self.event),
            "of_run": self.of_run,
            "reason": self.reason,
            "cause": self.cause,
            "cron_semantics": str(self.cron_semantics),
            "parse_secrets": list(self.parse_secrets),
            "airflow_layer": str(self.airflow_layer),
        }

    @classmethod
    def from_frame(cls, frame: Frame) -> "CallbackOrder":
        """Return what `to_frame` made the data of."""
        return cls(
            key=frame["key"],
            code=code_from_frame(frame["code"]),
            relative_path=frame["relative_path"],
            facts=facts_from_frame(frame["facts"]),
            event=CallbackEvent(frame["event"]),
            of_run=frame["of_run"],
            reason=frame["reason"],
            cause=frame["cause"],
            cron_semantics=CronSemantics(frame["cron_semantics"]),
            parse_secrets=tuple(frame["parse_secrets"]),
            airflow_layer=LayerUse(frame["airflow_layer"]),
        )
