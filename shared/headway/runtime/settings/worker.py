"""The settings of the worker."""

from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from headway.runtime.settings.configuration import (
    HttpPort,
    Names,
    Seconds,
    Settings,
    SparkConf,
)
from headway.runtime.settings.layer_use import LAYER_USE, LayerUse


class WorkerSettings(Settings):
    """The worker service."""

    section = "worker"

    slots: int = Field(8, ge=1, description="Attempts that run at a time.")
    queues: Names = Field(("default",), description="Queues from which the worker takes attempts.")
    callback_slots: int = Field(
        2, ge=1, description="Callbacks that run at a time, in addition to the attempts in `slots`."
    )
    callback_timeout: Seconds = Field(
        60.0, description="Seconds that all functions of one event may take together."
    )
    base_url: str | None = Field(
        None,
        description="What the links of notifications, and `ti.log_url` of tasks, begin with: the "
        "address of the API, which serves `/dags/DAG/runs/RUN`. Without it, a message names the "
        "command that shows the run, and `ti.log_url` begins with `http://localhost:8793`.",
    )
    poll_interval: Seconds = Field(
        1.0,
        description="Longest pause in seconds between two searches that find no work. The "
        "first pauses are shorter, and a notice ends a pause.",
    )
    lease_duration: Seconds = Field(
        20.0, description="Seconds for which a claim or a renewal of a lease is valid."
    )
    heartbeat_interval: Seconds = Field(
        2.0, description="Seconds between two renewals of the leases."
    )
    kill_grace: float = Field(
        5.0, ge=0, description="Seconds between SIGTERM and SIGKILL for a task that must stop."
    )
    cluster_kill_grace: float = Field(
        600.0,
        ge=0,
        description="Seconds that an attempt has, when its task is stopped, to kill its "
        "application in cluster mode and to see that the application has ended. After "
        "that, another attempt ends the application.",
    )
    drain_grace: float = Field(
        30.0,
        ge=0,
        description="Seconds for which running attempts may continue when the worker stops.",
    )
    max_attempt_memory_bytes: int | None = Field(
        None,
        ge=2**26,
        description="Bytes of memory that the processes of one attempt may use "
        "together, measured once a second.",
    )
    max_attempt_processes: int = Field(
        4096,
        ge=1,
        description="Processes and threads that one attempt may have, counted once a second.",
    )
    max_attempt_open_files: int = Field(
        65536, ge=64, description="Files that each process of an attempt may have open."
    )
    attempt_niceness: int = Field(
        10,
        ge=0,
        le=19,
        description="How much nicer (`nice`) attempts and callbacks are than the "
        "worker, so that leases are renewed and tasks scheduled in time when "
        "processors are busy; 0: no difference.",
    )
    http_port: HttpPort = 0
    http_address: str | None = Field(
        None,
        description="The name or address by which the API reaches this worker's HTTP port, to "
        "read logs that are on the worker's machine. Default: the host's name.",
    )
    max_xcom_bytes: int = Field(2**20, ge=64, description="Bytes of JSON in one XCom.")
    airflow_layer: LayerUse = Field(LayerUse.AUTO, description=LAYER_USE)
    forker: Path | None = Field(
        None,
        description="Unix socket of a fork server in another container. Without it, "
        "the service starts a fork server of its own.",
    )
    spark_forker: Path | None = Field(
        None,
        description="The same for tasks that use Spark. Without it, the fork server "
        "above serves them too.",
    )
    spark_master: str = Field(
        "local[2]", description="Master of the embedded Spark: `local[n]`, or a cluster."
    )
    spark_driver_memory: str = Field("1g", description="Driver memory of the embedded Spark.")
    spark_java_options: str = Field(
        "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        description="Java options of the embedded Spark. The default starts quickly; "
        "set an empty text for heavy work.",
    )
    spark_conf: SparkConf = Field(
        {},
        description="Properties of the embedded Spark, in JSON: "
        '`{"spark.sql.shuffle.partitions": "8"}`.',
    )
    spark_server_max_attempts: int = Field(
        1000, ge=1, description="Attempts that one server of the embedded Spark serves at most."
    )
    spark_server_memory_bytes: int = Field(
        0,
        ge=0,
        description="Bytes of resident memory beyond which a server of the embedded "
        "Spark is replaced; 0: 2 GiB more than spark_driver_memory.",
    )
    spark_server_idle_timeout: float = Field(
        600.0,
        ge=0,
        allow_inf_nan=False,
        description="Seconds without a task after which the embedded Spark stops; 0: never.",
    )
    spark_server_answer_timeout: Seconds = Field(
        30.0,
        description="Seconds without an answer after which a server of the embedded Spark is "
        "killed.",
    )
    spark_detached_timeout: Seconds = Field(
        300.0,
        description="Seconds after which a remote Spark Connect server ends an "
        "execution that no client follows. Give the value of its "
        "spark.connect.execute.manager.detachedTimeout.",
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
