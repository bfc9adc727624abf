"""What a running task may ask of its supervisor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from headway.domain.arguments import JsonValue
from headway.sdk.exceptions import AirflowException


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    """An application for spark-submit: its file, its arguments and the options of the command.

    Paths of files that lie beside the DAG file are absolute; all others are as the
    DAG file gave them.  `conn_id` names the Spark connection, None the default one.
    """

    application: str
    application_args: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    py_files: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    name: str | None = None
    java_class: str | None = None
    num_executors: int | None = None
    executor_cores: int | None = None
    executor_memory: str | None = None
    driver_memory: str | None = None
    principal: str | None = None
    keytab: str | None = None
    proxy_user: str | None = None
    deploy_mode: str | None = None
    conn_id: str | None = None


class TaskRuntime(Protocol):
    """The supervisor's side of a running task."""

    def pull_xcom(self, task_id: str, key: str) -> JsonValue:
        """Return what a task of the same run left under `key`; KeyError when nothing."""
        ...

    def push_xcom(self, key: str, value: JsonValue) -> None:
        """Leave a checked value under `key` for other tasks."""
        ...

    def spark_session(self) -> Any:
        """Return the attempt's own Spark session, opened at the first call."""
        ...

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit and wait for it; AirflowException when it fails."""
        ...


def no_spark() -> Any:
    """Stand in for Spark where there is none."""
    raise AirflowException("There is no Spark here; install headway[spark] and a Java runtime.")


def no_submit(application: SparkApplication) -> None:
    """Stand in for spark-submit where there is none."""
    raise AirflowException(f"There is no spark-submit here to run {application.application}.")


@dataclass(frozen=True, slots=True)
class LocalRuntime:
    """A runtime in this process.  The tasks of one run share `xcoms`, keyed by task and key."""

    task_id: str
    xcoms: dict[tuple[str, str], JsonValue] = field(default_factory=dict)
    open_spark: Callable[[], Any] = no_spark
    submit: Callable[[SparkApplication], None] = no_submit

    def pull_xcom(self, task_id: str, key: str) -> JsonValue:
        """Return what a task of the run left under `key`; KeyError when nothing."""
        return self.xcoms[task_id, key]

    def push_xcom(self, key: str, value: JsonValue) -> None:
        """Leave a value under `key`."""
        self.xcoms[self.task_id, key] = value

    def spark_session(self) -> Any:
        """Return the session that `open_spark` opens."""
        return self.open_spark()

    def submit_spark(self, application: SparkApplication) -> None:
        """Hand the application to `submit`."""
        self.submit(application)
