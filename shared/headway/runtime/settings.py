"""Settings: one model for each part, read here and passed down as plain values.

A value comes from the environment (`HEADWAY_SCHEDULER_PARALLELISM=64`), else from
the TOML file that `HEADWAY_CONFIG` names (default `$HEADWAY_HOME/headway.toml`,
section `[scheduler]`), else from the default below.  docs/settings.md is made of
these models.
"""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from headway.domain.dag.mapping import MAX_MAP_LENGTH
from headway.runtime.configuration import (
    HttpPort,
    Names,
    Seconds,
    Settings,
    SparkConf,
    UpToADay,
    config_file,
    defaults,
    environment,
    home,
    make_home,
    private_paths,
    read,
)
from headway.runtime.database_settings import DatabaseSettings
from headway.runtime.log_settings import LogSettings
from headway.runtime.parser_settings import ParserSettings
from headway.runtime.retention_settings import RetentionSettings

__all__ = [
    "DatabaseSettings",
    "LogSettings",
    "Names",
    "ParserSettings",
    "SchedulerSettings",
    "Seconds",
    "Settings",
    "WorkerSettings",
    "config_file",
    "defaults",
    "environment",
    "home",
    "make_home",
    "private_paths",
    "read",
]


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
        "the line.",
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


class WorkerSettings(Settings):
    """The worker service."""

    section = "worker"

    slots: int = Field(8, ge=1, description="Attempts that run at a time.")
    queues: Names = Field(("default",), description="Queues to take attempts from.")
    callback_slots: int = Field(
        2, ge=1, description="Callbacks that run at a time, besides the attempts in `slots`."
    )
    callback_timeout: Seconds = Field(
        60.0, description="Seconds that the functions of one event may take, all together."
    )
    base_url: str | None = Field(
        None, description="URL before /dags/… in the links of notifications."
    )
    poll_interval: Seconds = Field(
        1.0,
        description="Longest wait in seconds between two looks for work that find none; it is "
        "short at first, and a notice ends it.",
    )
    lease_duration: Seconds = Field(
        20.0, description="Seconds for which a claim or a renewal holds."
    )
    heartbeat_interval: Seconds = Field(2.0, description="Seconds between two renewals.")
    kill_grace: float = Field(
        5.0, ge=0, description="Seconds between SIGTERM and SIGKILL for a task that must stop."
    )
    cluster_kill_grace: float = Field(
        600.0,
        ge=0,
        description="Seconds that a task which must stop gets to have its application in cluster "
        "mode killed, and to see that it has ended; then another attempt goes on with that.",
    )
    drain_grace: float = Field(
        30.0, ge=0, description="Seconds that running attempts get when the worker stops."
    )
    max_attempt_memory_bytes: int | None = Field(
        None,
        ge=2**26,
        description="Bytes of memory that the processes of one attempt may have together; they "
        "are looked at once a second.",
    )
    max_attempt_processes: int = Field(
        4096, ge=1, description="Processes and threads that one attempt may have, likewise."
    )
    max_attempt_open_files: int = Field(
        65536, ge=64, description="Files that each process of an attempt may have open."
    )
    attempt_niceness: int = Field(
        10,
        ge=0,
        le=19,
        description="By how much attempts and callbacks stand back (`nice`) where processors are "
        "short, so that leases are renewed and tasks scheduled in time; 0 for not at all.",
    )
    http_port: HttpPort = 0
    max_xcom_bytes: int = Field(2**20, ge=64, description="Bytes of JSON in one XCom.")
    forker: Path | None = Field(
        None,
        description="Unix socket of a fork server in another container; without it one is started.",
    )
    spark_forker: Path | None = Field(
        None,
        description="The same for tasks that use Spark; without it the one above serves them too.",
    )
    spark_master: str = Field(
        "local[2]", description="Master of the worker's own Spark: `local[n]`, or a cluster."
    )
    spark_driver_memory: str = Field("1g", description="Driver memory of the embedded Spark.")
    spark_java_options: str = Field(
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        description="Java options of the embedded Spark, by default for a quick start; "
        "make it empty for heavy work.",
    )
    spark_conf: SparkConf = Field(
        {},
        description="Properties of the embedded Spark, in JSON: "
        '`{"spark.sql.shuffle.partitions": "8"}`.',
    )
    spark_server_attempts: int = Field(
        1000, ge=1, description="Attempts that one server of the embedded Spark serves at most."
    )
    spark_server_memory_bytes: int = Field(
        0,
        ge=0,
        description="Bytes of resident memory past which a server of the embedded Spark is "
        "replaced; 0 for 2 GiB more than spark_driver_memory.",
    )
    spark_server_idle: float = Field(
        600.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds after which the embedded Spark stops when no task uses it; 0 for "
        "never.",
    )
    spark_server_silence: Seconds = Field(
        30.0,
        description="Seconds without an answer after which a server of the embedded Spark is "
        "killed.",
    )
    spark_detached_timeout: Seconds = Field(
        300.0,
        description="Seconds after which a remote Spark Connect server ends by itself what no "
        "client follows: its spark.connect.execute.manager.detachedTimeout.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.lease_duration < 3 * self.heartbeat_interval + self.kill_grace:
            raise ValueError(
                "lease_duration must be at least three times heartbeat_interval plus kill_grace "
                f"({3 * self.heartbeat_interval + self.kill_grace:g} s), or a worker could not "
                "stop its attempts before they are given away."
            )
        return self
