"""The settings of the scheduler."""

from typing import Self

from pydantic import Field, model_validator

from headway.domain.dag.mapping import MAX_MAP_LENGTH
from headway.runtime.settings.configuration import (
    HttpPort,
    Seconds,
    UpToADay,
)
from headway.runtime.settings.retention import RetentionSettings


class SchedulerSettings(RetentionSettings):
    """The scheduler service."""

    section = "scheduler"

    max_dagruns_to_create_per_loop: int = Field(
        250, ge=1, description="DAGs that one pass of create_runs locks at most."
    )
    max_dagruns_per_loop_to_schedule: int = Field(
        500, ge=1, description="Runs that one pass of start_runs or schedule_tasks locks."
    )
    max_tis_per_query: int = Field(
        512, ge=1, description="Task instances that one pass of queue_tasks queues in a pool."
    )
    parallelism: int = Field(
        10_000,
        ge=1,
        description="Task instances that one scheduler has queued or running at a time.",
    )
    priority_aging: Seconds = Field(
        60.0,
        description="Seconds of waiting that are worth one unit of priority: a task of priority "
        "p waits for tasks of priority q only if they were scheduled no later than (q - p) times "
        "this after it. The same for all schedulers.",
    )
    max_map_length: int = Field(
        MAX_MAP_LENGTH, ge=1, description="Instances that a mapped task may become."
    )
    allow_trigger_in_future: bool = Field(
        False,
        description="Whether a run that is triggered for a date to come starts at once, if its "
        "DAG has no schedule; read by `headway dags trigger`.",
    )
    use_row_level_locking: bool = Field(
        True,
        description="False says that there is one scheduler alone: a second one is refused.",
    )
    num_runs: int = Field(
        0, ge=0, description="Loops after which the scheduler ends; 0 for no such bound."
    )
    run_duration: float = Field(
        0.0, ge=0, description="Seconds after which the scheduler ends; 0 for no such bound."
    )
    scheduler_idle_sleep_time: Seconds = Field(
        1.0,
        description="Longest wait in seconds between two loops that find nothing to do; it is "
        "short at first, and a notice ends it.",
    )
    heartbeat_interval: Seconds = Field(2.0, description="Seconds between two heartbeats.")
    max_clock_skew: float = Field(
        60.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds by which the clock of a scheduler may differ from the database's; "
        "beyond that it schedules nothing until its clock is right. 0 for no bound.",
    )
    scheduler_health_check_threshold: Seconds = Field(
        15.0, description="Seconds without a heartbeat after which a process counts as dead."
    )
    outage_threshold: Seconds = Field(
        300.0,
        description="Seconds without a heartbeat of any scheduler after which what fell due "
        "meanwhile counts as missed.",
    )
    orphaned_tasks_check_interval: Seconds = Field(
        5.0, description="Seconds between two looks for dead processes and expired leases."
    )
    deadline_check_interval: Seconds = Field(
        5.0, description="Seconds between two looks for deadlines that are over."
    )
    notification_gather_time: UpToADay = Field(
        10.0, description="Seconds, up to a day, to gather events of a run into one message."
    )
    notification_spacing: UpToADay = Field(
        300.0,
        description="Seconds, up to a day, from a message to the next of its kind about its run.",
    )
    task_queued_timeout: Seconds = Field(
        600.0,
        description="Seconds after which a queued task that no worker has claimed goes back into "
        "the queue of its pool.",
    )
    clean_tis_without_dagrun_interval: Seconds = Field(
        15.0, description="Seconds between two looks for rows whose run was deleted by hand."
    )
    pool_metrics_interval: Seconds = Field(
        5.0, le=60, description="Seconds, up to 60, between two measurements of pools and queues."
    )
    table_metrics_interval: Seconds = Field(
        30.0,
        description="Seconds between two measurements of runs and task instances by state, and of "
        "the database, if metrics are shown; more where one takes long.",
    )
    http_port: HttpPort = 0
    lease_grace: float = Field(
        5.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds past a lease's end after which its attempt is lost.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.scheduler_health_check_threshold < 3 * self.heartbeat_interval:
            raise ValueError(
                "scheduler_health_check_threshold must be at least three times "
                f"heartbeat_interval ({self.heartbeat_interval:g} s), or live processes would be "
                "declared dead."
            )
        if self.orphaned_tasks_check_interval > self.scheduler_health_check_threshold:
            raise ValueError(
                "orphaned_tasks_check_interval must not be longer than "
                f"scheduler_health_check_threshold ({self.scheduler_health_check_threshold:g} s), "
                "or the dead would be found much later than that says."
            )
        if self.task_queued_timeout < self.scheduler_health_check_threshold:
            raise ValueError(
                "task_queued_timeout must not be shorter than scheduler_health_check_threshold "
                f"({self.scheduler_health_check_threshold:g} s), or tasks would be taken out of "
                "the queue while their workers are only slow."
            )
        if self.outage_threshold < self.scheduler_health_check_threshold:
            raise ValueError(
                "outage_threshold must not be shorter than scheduler_health_check_threshold "
                f"({self.scheduler_health_check_threshold:g} s), or a scheduler that is alive "
                "would count as away."
            )
        return self
