"""Runs that tasks ask for: whether one is to be created.  Pure."""

from dataclasses import dataclass
from datetime import datetime

from headway.domain.arguments import JsonValue
from headway.domain.dag.names import instance_name
from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted


@dataclass(frozen=True, slots=True)
class RunRequest:
    """A request that has no answer yet, made at `created_at`."""

    id: int
    wanted: RunWanted
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFacts:
    """Who asks for a run, and how the DAG stands of which one is asked for.

    The DAG `is_there` if a file of the same bundle defines it.  `taken_over` is the run that an
    attempt before this one, which was lost, had created by the same request.
    """

    by_dag_id: str
    by_run_id: str
    task_id: str
    map_index: int
    attempt: int
    is_live: bool
    is_there: bool
    is_paused: bool
    taken_over: str | None = None

    @property
    def author(self) -> dict[str, JsonValue]:
        """Who asks, as the journal tells it."""
        return {
            "dag_id": self.by_dag_id,
            "run_id": self.by_run_id,
            "task": instance_name(self.task_id, self.map_index),
            "attempt": self.attempt,
        }


def answered(wanted: RunWanted, facts: RequestFacts) -> RunAnswer | None:
    """Return the answer to a request that creates nothing; None when a run is to be created.

    A run that was taken over is told as what it is for the task: created.
    """
    if not facts.is_live:
        return _refused("The attempt that asked for the run was not running any more.")
    if facts.taken_over is not None:
        return RunAnswer(RequestAnswer.CREATED, facts.taken_over)
    if not facts.is_there:
        return _refused(
            f"There is no DAG {wanted.dag_id!r} in the bundle of DAG {facts.by_dag_id!r}; a task "
            "triggers DAGs of its own bundle."
        )
    if wanted.unless_paused and facts.is_paused:
        return _refused(f"DAG {wanted.dag_id!r} is paused, and fail_when_dag_is_paused is set.")
    return None


def _refused(reason: str) -> RunAnswer:
    return RunAnswer(RequestAnswer.REFUSED, reason=reason)
