"""Metrics of schedulers: what their passes do, and what waits."""

from typing import Final

from headway.decide.scheduling.admit import Limit
from headway.domain.retention import RetainedKind
from headway.domain.states import RunState, TaskState
from headway.metrics.metric import Counter, Gauge, Histogram, Label, ServiceKind

_OURS: Final = frozenset({ServiceKind.SCHEDULER})
_BY_POOL: Final = (Label("pool"),)

PASSES: Final = (
    "create_runs",
    "start_runs",
    "schedule_tasks",
    "schedule_retries",
    "queue_tasks",
    "time_out",
    "adopt",
    "judge_deadlines",
    "gather_notifications",
    "answer_requests",
    "revoke",
    "expire_state",
    "clean",
)

PASS_SECONDS: Final = Histogram(
    "headway_pass_duration_seconds",
    "Duration of each pass.",
    _OURS,
    (Label("pass", PASSES),),
    "seconds",
    bounds=(0.002, 0.01, 0.05, 0.25, 1.0, 5.0, 30.0),
)

CRITICAL_SECTION_SKIPS: Final = Counter(
    "headway_critical_section_skips",
    "Times that this scheduler skipped a pool because another scheduler "
    "was queueing tasks of the pool.",
    _OURS,
    _BY_POOL,
)

CRITICAL_SECTION_WAITS: Final = Counter(
    "headway_critical_section_waits",
    "Times that this scheduler left a pool to other schedulers for a moment after a large batch.",
    _OURS,
    _BY_POOL,
)

TASKS_QUEUED: Final = Counter(
    "headway_tasks_queued", "Task instances that this scheduler has queued.", _OURS
)

TASKS_REFUSED: Final = Counter(
    "headway_tasks_refused",
    "Times that a task instance was not queued, by the limit that held it back. `queue`: three "
    "times as many tasks as the workers of its queue have slots were queued or running. `weight`: "
    "its backfill had no share of the pool left.",
    _OURS,
    (Label("limit", tuple(Limit)),),
)

RETRIES: Final = Counter(
    "headway_retries", "Task instances that were scheduled again for a retry.", _OURS
)

SCHEDULE_DELAY: Final = Histogram(
    "headway_schedule_delay_seconds",
    "Time from when a scheduled run was due until it started, runs of a catchup included.",
    _OURS,
    unit="seconds",
)

RUNS_ENDED: Final = Counter(
    "headway_dag_runs_ended",
    "DAG runs that this scheduler has ended, by DAG and state; without "
    "runs that a user ended before they started or marked after they ended.",
    _OURS,
    (Label("dag"), Label("state", ("success", "failed"))),
)

DAG_RUNS: Final = Gauge(
    "headway_dag_runs",
    "DAG runs that have not ended, by state.",
    _OURS,
    (Label("state", (str(RunState.QUEUED), str(RunState.RUNNING))),),
)

TASK_INSTANCES: Final = Gauge(
    "headway_task_instances",
    "Task instances of runs that have not ended, by state. `restarting`: a user changed the task "
    "while it ran, and its attempt is stopping; or an attempt only ends what a lost attempt has "
    "left on a cluster. `deferred` is always 0: no task defers yet.",
    _OURS,
    (Label("state", tuple(TaskState)),),
)

POOL_SLOTS: Final = Gauge(
    "headway_pool_slots",
    "Slots of a pool: its size (total), its free slots (free), and the "
    "slots of its tasks by state.",
    _OURS,
    (
        Label("pool"),
        Label("state", ("queued", "running", "scheduled", "deferred", "total", "free")),
    ),
)

POOL_STARVING: Final = Gauge(
    "headway_pool_starving_slots",
    "Slots that scheduled tasks of a pool wait for while the pool has no free slot; else 0.",
    _OURS,
    _BY_POOL,
)

QUEUE_DEPTH: Final = Gauge(
    "headway_admissible_tasks",
    "Task instances in the state scheduled: their dependencies are met, and they wait for a slot.",
    _OURS,
    _BY_POOL,
)

OLDEST_ADMISSIBLE: Final = Gauge(
    "headway_oldest_admissible_task_seconds",
    "How long the oldest scheduled task instance of a pool has waited.",
    _OURS,
    _BY_POOL,
    "seconds",
)

UNCLAIMED: Final = Gauge(
    "headway_queued_attempts",
    "Attempts that wait for a worker, by queue.",
    _OURS,
    (Label("queue"),),
)

OLDEST_UNCLAIMED: Final = Gauge(
    "headway_oldest_queued_attempt_seconds",
    "How long the oldest attempt of a queue has waited for a worker.",
    _OURS,
    (Label("queue"),),
    "seconds",
)

PROCESSES: Final = Gauge(
    "headway_processes",
    "Live services: registered, with a heartbeat within the threshold.",
    _OURS,
    (Label("kind", ("api", "parser", "scheduler", "worker", "backfill")),),
)

PROCESSES_DEAD: Final = Counter(
    "headway_processes_dead",
    "Services that this scheduler has declared dead because they sent no heartbeat.",
    _OURS,
    (Label("kind", ("api", "parser", "scheduler", "worker", "backfill")),),
)

ADOPTIONS: Final = Counter(
    "headway_adoptions",
    "Attempts that this scheduler took over from dead schedulers (attempt), and runs that "
    "it freed for all schedulers because the `headway backfill run` that had reserved them "
    "has ended (run).",
    _OURS,
    (Label("what", ("attempt", "run")),),
)

ATTEMPTS_LOST: Final = Counter(
    "headway_attempts_lost",
    "Attempts that were lost because their worker did not renew the lease.",
    _OURS,
)

ATTEMPTS_REVOKED: Final = Counter(
    "headway_attempts_revoked",
    "Attempts taken back from a queue because no worker claimed them in time.",
    _OURS,
)

RETENTION_BEHIND: Final = Gauge(
    "headway_retention_behind_seconds",
    "Seconds for which the oldest row of a kind is overdue for removal; up "
    "to one interval of the policy is normal.",
    _OURS,
    (Label("kind", tuple(RetainedKind)),),
    "seconds",
)

DEADLINES_MISSED: Final = Counter(
    "headway_deadlines_missed",
    "Missed deadlines of runs and tasks that this scheduler has found.",
    _OURS,
)

NOTIFICATION_WAIT: Final = Gauge(
    "headway_notification_oldest_wait_seconds",
    "How long the oldest waiting notification has waited; 0 if none waits.",
    _OURS,
    unit="seconds",
)

MEASURED_AT: Final = Gauge(
    "headway_measured_timestamp_seconds",
    "Time of this scheduler's last measurement in the database, by subject.",
    _OURS,
    (Label("subject", ("queues", "server", "tables")),),
    "seconds",
)

MEASURING_SECONDS: Final = Gauge(
    "headway_measuring_duration_seconds",
    "Duration of this scheduler's last measurement in the database, by subject.",
    _OURS,
    (Label("subject", ("queues", "server", "tables")),),
    "seconds",
)

DECLARED: Final = (
    PASS_SECONDS,
    CRITICAL_SECTION_SKIPS,
    CRITICAL_SECTION_WAITS,
    TASKS_QUEUED,
    TASKS_REFUSED,
    RETRIES,
    SCHEDULE_DELAY,
    RUNS_ENDED,
    DAG_RUNS,
    TASK_INSTANCES,
    POOL_SLOTS,
    POOL_STARVING,
    QUEUE_DEPTH,
    OLDEST_ADMISSIBLE,
    UNCLAIMED,
    OLDEST_UNCLAIMED,
    PROCESSES,
    PROCESSES_DEAD,
    ADOPTIONS,
    ATTEMPTS_LOST,
    ATTEMPTS_REVOKED,
    RETENTION_BEHIND,
    DEADLINES_MISSED,
    NOTIFICATION_WAIT,
    MEASURED_AT,
    MEASURING_SECONDS,
)
