"""Tasks of a DAG as Airflow's clients know them."""

from datetime import datetime, timedelta
from typing import Literal, Self

from pydantic import BaseModel, Field

from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.spec import TaskSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.weights import WeightRule
from headway_api.airflow.params_shown import ShownParam, shown_params


class ShownDuration(BaseModel):
    """A length of time, as Airflow writes it."""

    kind: Literal["TimeDelta"] = Field(default="TimeDelta", serialization_alias="__type")
    days: int
    seconds: int
    microseconds: int

    @classmethod
    def of(cls, seconds: float) -> Self:
        """Return so many seconds."""
        whole = timedelta(seconds=seconds)
        return cls(days=whole.days, seconds=whole.seconds, microseconds=whole.microseconds)


class ShownTask(BaseModel):
    """A task of a DAG."""

    task_id: str
    task_display_name: str
    owner: str | None = None
    start_date: datetime | None
    end_date: datetime | None
    trigger_rule: TriggerRule
    depends_on_past: bool
    wait_for_downstream: bool = False
    retries: int
    queue: str
    pool: str
    pool_slots: int
    execution_timeout: ShownDuration | None
    retry_delay: ShownDuration
    retry_exponential_backoff: float
    priority_weight: int
    weight_rule: WeightRule
    ui_color: str = "#fff"
    ui_fgcolor: str = "#000"
    template_fields: list[str] = []
    downstream_task_ids: list[str]
    doc_md: str | None
    operator_name: str
    params: dict[str, ShownParam]
    class_ref: dict[str, str]
    is_mapped: bool
    extra_links: list[str] = []

    @classmethod
    def of(cls, graph: DagGraph, task: TaskSpec) -> Self:
        """Return a task of this DAG."""
        timeout = task.execution_timeout
        return cls(
            task_id=task.task_id,
            task_display_name=task.task_display_name or task.task_id,
            owner=task.owner,
            start_date=graph.dag.start_date,
            end_date=graph.dag.end_date,
            trigger_rule=task.trigger_rule,
            depends_on_past=task.depends_on_past,
            retries=task.retries,
            queue=task.queue,
            pool=task.pool,
            pool_slots=task.pool_slots,
            execution_timeout=None if timeout is None else ShownDuration.of(timeout),
            retry_delay=ShownDuration.of(task.retry_delay),
            retry_exponential_backoff=2.0 if task.retry_exponential_backoff else 0.0,
            priority_weight=task.priority_weight,
            weight_rule=task.weight_rule,
            downstream_task_ids=sorted(graph.downstream[task.task_id]),
            doc_md=task.doc_md,
            operator_name=task.operator,
            params=shown_params(task),
            class_ref={"class_name": task.operator},
            is_mapped=bool(task.mapped_over),
        )


class ShownTasks(BaseModel):
    """All tasks of a DAG."""

    tasks: list[ShownTask]
    total_entries: int
