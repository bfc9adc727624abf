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
        500, ge=1, description="Runs that one pass of start_runs or schedule_tasks locks at most."
    )
    max_tis_per_query: int = Field(
        512,
        ge=1,
        description="Task instances of a pool that one pass of queue_tasks queues at most.",
    )
    parallelism: int = Field(
        10_000,
        ge=1,
        description="Task instances that one scheduler may have queued or running at a time.",
    )
    priority_aging: Seconds = Field(
        60.0,
        description="Seconds of waiting that are worth one unit of priority. Example with "
        "60: a task of priority 3 comes before a task of priority 1 that was scheduled up "
        "to 120 s earlier. Give all schedulers the same value.",
    )
    max_map_length: int = Field(
        MAX_MAP_LENGTH, ge=1, description="Instances that a mapped task may have at most."
    )
    allow_trigger_in_future: bool = Field(
        False,
        description="Whether a run that is triggered for a future date starts at once, "
        "if its DAG has no schedule. `headway dags trigger` reads this setting.",
    )
    use_row_level_locking: bool = Field(
        True,
        description="False: there is only one scheduler, and a second one is refused.",
    )
    num_runs: int = Field(0, ge=0, description="Loops after which the scheduler ends; 0: no limit.")
    run_duration: float = Field(
        0.0, ge=0, description="Seconds after which the scheduler ends; 0: no limit."
    )
    scheduler_idle_sleep_time: Seconds = Field(
        1.0,
        description="Longest pause in seconds between two loops that find no work. The "
        "first pauses are shorter, and a notice ends a pause.",
    )
    heartbeat_interval: Seconds = Field(2.0, description="Seconds between two heartbeats.")
    max_clock_skew: float = Field(
        60.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds by which a scheduler's clock may differ from the "
        "database's clock. Beyond that the scheduler schedules nothing until its "
        "clock is right; 0: no limit.",
    )
    scheduler_health_check_threshold: Seconds = Field(
        15.0, description="Seconds without a heartbeat after which a process counts as dead."
    )
    outage_threshold: Seconds = Field(
        300.0,
        description="Seconds without a heartbeat of any scheduler after which the runs "
        "that fell due meanwhile count as missed.",
    )
    orphaned_tasks_check_interval: Seconds = Field(
        5.0, description="Seconds between two searches for dead processes and expired leases."
    )
    deadline_check_interval: Seconds = Field(
        5.0, description="Seconds between two searches for deadlines that are over."
    )
    notification_gather_time: UpToADay = Field(
        10.0,
        description="Seconds, up to a day, for which events of a run are gathered into "
        "one message.",
    )
    notification_spacing: UpToADay = Field(
        300.0,
        description="Least seconds, up to a day, between two messages of the same kind "
        "about one run.",
    )
    task_queued_timeout: Seconds = Field(
        600.0,
        description="Seconds after which a queued task that no worker has claimed is "
        "scheduled again.",
    )
    clean_tis_without_dagrun_interval: Seconds = Field(
        15.0, description="Seconds between two searches for rows whose run was deleted by hand."
    )
    pool_metrics_interval: Seconds = Field(
        5.0, le=60, description="Seconds, up to 60, between two measurements of pools and queues."
    )
    table_metrics_interval: Seconds = Field(
        30.0,
        description="Seconds between two measurements of the database, and of runs and "
        "task instances by state, if there is an HTTP port; more after a slow "
        "measurement.",
    )
    http_port: HttpPort = 0
    lease_grace: float = Field(
        5.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds from the end of a lease until its attempt counts as lost.",
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
