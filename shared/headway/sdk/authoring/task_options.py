"""The arguments that every task takes, and how each is checked."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypedDict

from headway.domain.arguments import JsonValue
from headway.domain.dag.spec import Jitter
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.weights import WeightRule
from headway.domain.errors import DagError
from headway.domain.states import OnLost
from headway.sdk.authoring.deadlines import deadlines
from headway.sdk.authoring.notifiers import by_email, of_task
from headway.sdk.values import checks
from headway.sdk.values.params import Param, declared
from headway.sdk.values.retrying import exception_names
from headway.sdk.values.template_options import template

if TYPE_CHECKING:
    from headway.sdk.authoring.callbacks import Callback
    from headway.sdk.authoring.deadlines import DeadlineAlert
    from headway.sdk.authoring.definition import DAG
    from headway.sdk.authoring.groups.task_group import TaskGroup
    from headway.sdk.authoring.notifiers import Notifier
    from headway.sdk.running.retry_policy import RetryPolicy

    Functions = Callback | Sequence[Callback] | None
    Deadline = DeadlineAlert | timedelta | float
    Deadlines = Deadline | Sequence[Deadline] | None
    Notifiers = Notifier | Sequence[Notifier] | None
    Exceptions = type[BaseException] | str | Sequence[type[BaseException] | str] | None


class TaskOptions(TypedDict, total=False):
    """What any operator and any task decorator takes besides its own arguments."""

    dag: "DAG | None"
    task_group: "TaskGroup | None"
    task_display_name: str | None
    map_index_template: str | None
    retries: int
    retry_delay: timedelta | float
    retry_exponential_backoff: bool
    max_retry_delay: timedelta | float | None
    retry_jitter: Jitter | str | None
    retry_on: "Exceptions"
    fail_fast_on: "Exceptions"
    retry_policy: "RetryPolicy | None"
    execution_timeout: timedelta | float | None
    sla: "Deadlines"
    notify: "Notifiers"
    pool: str
    pool_slots: int
    priority_weight: int
    weight_rule: WeightRule | str
    max_active_tis_per_dag: int | None
    max_active_tis_per_dagrun: int | None
    on_lost: OnLost | str
    queue: str
    trigger_rule: TriggerRule | str
    depends_on_past: bool
    start_date: datetime | None
    end_date: datetime | None
    on_execute_callback: "Functions"
    on_success_callback: "Functions"
    on_failure_callback: "Functions"
    on_retry_callback: "Functions"
    on_skipped_callback: "Functions"
    doc_md: str | None
    owner: str | None
    params: Mapping[str, JsonValue | Param] | None
    email: str | Iterable[str] | None
    email_on_failure: bool
    email_on_retry: bool
    do_xcom_push: bool
    multiple_outputs: bool


STORED: Final[Mapping[str, checks.Check]] = {
    "retries": checks.whole(0),
    "retry_delay": checks.in_seconds(checks.duration),
    "retry_exponential_backoff": checks.flag,
    "max_retry_delay": checks.optional(checks.in_seconds(checks.time_limit)),
    "retry_jitter": checks.optional(checks.choice(Jitter)),
    "retry_on": exception_names,
    "fail_fast_on": exception_names,
    "execution_timeout": checks.optional(checks.in_seconds(checks.time_limit)),
    "sla": deadlines,
    "notify": of_task,
    "pool": checks.key("pool"),
    "pool_slots": checks.whole(1),
    "priority_weight": checks.whole(0),
    "weight_rule": checks.choice(WeightRule),
    "max_active_tis_per_dag": checks.optional(checks.whole(1)),
    "max_active_tis_per_dagrun": checks.optional(checks.whole(1)),
    "on_lost": checks.choice(OnLost),
    "queue": checks.key("queue"),
    "trigger_rule": checks.choice(TriggerRule),
    "depends_on_past": checks.flag,
    "start_date": checks.optional(checks.date_of_schedule),
    "end_date": checks.optional(checks.date_of_schedule),
    "task_display_name": checks.optional(checks.text),
    "map_index_template": template,
    "doc_md": checks.optional(checks.text),
    "owner": checks.optional(checks.text),
}
"""The options that are part of a task's specification."""

TASK_OPTIONS: Final = frozenset(TaskOptions.__annotations__)

REFUSED: Final[Mapping[str, str]] = {
    "wait_for_downstream": (
        "there is no wait_for_downstream; set depends_on_past=True on the tasks that have to wait, "
        "or max_active_runs=1 on the DAG."
    ),
    "run_as_user": (
        "there is no run_as_user; give the task a queue whose workers run as that user."
    ),
    "run_after": "a run falls due at its logical date; pass logical_date= in place of run_after.",
    "executor": "there is no executor to choose; give the task a queue, and run workers for it.",
}
"""What Airflow's tasks take and these do not, and what to write instead."""


RENAMED: Final[Mapping[str, str]] = {"sla": "slas", "notify": "notifiers"}
"""What has another name in the specification."""


def stored(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options that belong to the specification, checked."""
    found = {
        RENAMED.get(name, name): STORED[name](value, name)
        for name, value in options.items()
        if name in STORED
    }
    start, end = found.get("start_date"), found.get("end_date")
    if start and end and end < start:
        raise DagError(f"end_date ({end}) is before start_date ({start}); swap them.")
    if "params" in options:
        found |= declared(options["params"], "params")
    if mail := by_email(options):
        found["notifiers"] = (*found.get("notifiers", ()), mail)
    return found
