"""What a running task may ask of its supervisor."""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from headway.domain.arguments import JsonValue
from headway.domain.connection import Connection
from headway.domain.dag.run_request import RunAnswer, RunWanted
from headway.domain.interval import PriorRun
from headway.domain.states import RunState
from headway.domain.xcoms import XComItem, items_of
from headway.sdk.exceptions import AirflowException

DEFAULT_SPARK: Final = "spark_default"
"""The Spark connection of tasks that name none.  Where nobody has defined it, it is embedded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkApplication:
    """An application for spark-submit: its file, its arguments and the options of the command.

    Paths of files that lie beside the DAG file are absolute; all others are as the
    DAG file gave them.  `conn_id` names the Spark connection.  `env_vars` are variables of
    the driver.  `status_poll_interval` is in seconds, for cluster mode.
    """

    application: str
    application_args: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)
    py_files: tuple[str, ...] = ()
    jars: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    exclude_packages: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    archives: tuple[str, ...] = ()
    name: str | None = None
    java_class: str | None = None
    driver_class_path: str | None = None
    num_executors: int | None = None
    executor_cores: int | None = None
    total_executor_cores: int | None = None
    executor_memory: str | None = None
    driver_cores: int | None = None
    driver_memory: str | None = None
    yarn_queue: str | None = None
    env_vars: Mapping[str, str] = field(default_factory=dict, repr=False)
    principal: str | None = None
    keytab: str | None = None
    proxy_user: str | None = None
    deploy_mode: str | None = None
    verbose: bool = False
    status_poll_interval: float = 10.0
    conn_id: str = DEFAULT_SPARK


@dataclass(frozen=True, slots=True)
class RunName:
    """A run of the task's DAG, or of another DAG of its bundle."""

    dag_id: str
    run_id: str


class TaskSecrets(Protocol):
    """Where a task's connections and variables come from."""

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return the connection of that id, None if there is none.

        HeadwayError when it may not be read, or cannot.
        """
        ...

    def get_variable(self, key: str) -> str | None:
        """Return the text of the variable, None if there is none; errors as above."""
        ...


class TaskRuntime(TaskSecrets, Protocol):
    """The supervisor's side of a running task.  It has XComs as they are stored."""

    @property
    def virtualenvs(self) -> Path | None:
        """The folder where virtual environments are kept; None if none are."""
        ...

    def pull_xcom(
        self, task_id: str, key: str, map_index: int = -1, of: RunName | None = None
    ) -> JsonValue:
        """Return what a task of the same run, or `of` another, left; KeyError when nothing.

        `map_index` names the instance of a mapped task.
        """
        ...

    def pull_xcoms(self, task_id: str, key: str, of: RunName | None = None) -> list[JsonValue]:
        """Return what the instances of a mapped task left, those that succeeded, in order."""
        ...

    def latest_run(self, task_id: str, key: str, until: RunName) -> str | None:
        """Return the id of the last run up to that one in which the task left something."""
        ...

    def xcom_length(self, task_id: str, key: str) -> int:
        """Return how many items there are to expand over in what a task left.

        Of a mapped task, each instance's value is one item.
        """
        ...

    def xcom_item(self, task_id: str, key: str, index: int) -> XComItem:
        """Return one item of what a task left: of a dictionary, a key with its value."""
        ...

    def last_success(self) -> PriorRun | None:
        """Return the last run of the DAG's schedule before this one that has succeeded."""
        ...

    def trigger_run(self, wanted: RunWanted) -> RunAnswer | None:
        """Have a run of another DAG created; return what was made of that.

        None where there is nobody to create one: in a test.
        """
        ...

    def run_state(self, of: RunName) -> RunState | None:
        """Return the state of a run of a DAG of the bundle; None if there is no such run."""
        ...

    def push_xcom(self, key: str, value: JsonValue) -> None:
        """Leave a checked value under `key` for other tasks."""
        ...

    def read_store(self, key: str) -> JsonValue:
        """Return what the task instance keeps under `key`; KeyError when nothing."""
        ...

    def write_store(self, key: str, value: JsonValue, retention: timedelta | None) -> None:
        """Keep a checked value for the next attempts; without a retention it never expires."""
        ...

    def clear_store(self, key: str | None) -> None:
        """Forget what the task instance keeps under `key`, or all of it."""
        ...

    def name_instance(self, name: str) -> None:
        """Tell what the task instance is called."""
        ...

    def spark_session(self, conn_id: str) -> Any:
        """Return the attempt's own session on that Spark connection, opened at the first call."""
        ...

    def spark_driver(self, conn_id: str) -> Any:
        """Return the classic session of a driver of the attempt's own, on that connection."""
        ...

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit and wait for it; AirflowException when it fails."""
        ...


def no_spark(conn_id: str) -> Any:
    """Stand in for Spark where there is none."""
    raise AirflowException(
        f"There is no Spark here to be {conn_id!r}; install headway[spark] and a Java runtime."
    )


def no_submit(application: SparkApplication) -> None:
    """Stand in for spark-submit where there is none."""
    raise AirflowException(f"There is no spark-submit here to run {application.application}.")


def unnamed(name: str) -> None:
    """Have no place for the name of an instance."""


class NoSecrets:
    """Stand in for connections and variables where there are none."""

    def get_connection(self, conn_id: str) -> None:  # noqa: ARG002
        """Find none."""
        return

    def get_variable(self, key: str) -> None:  # noqa: ARG002
        """Find none."""
        return


XComs: TypeAlias = dict[tuple[str, str], JsonValue]
"""What the tasks of a run have left, by task and key."""

MappedXComs: TypeAlias = dict[tuple[str, str], dict[int, JsonValue]]
"""What the instances of mapped tasks have left, by task and key, then by map_index."""

StateStores: TypeAlias = dict[tuple[str, int], dict[str, JsonValue]]
"""What the task instances of a run keep, by task and map_index, then by key."""


@dataclass(frozen=True, slots=True)
class LocalRuntime:
    """A runtime in this process.  The tasks of one run share `xcoms`, `mapped` and `stores`.

    What is kept in `stores` does not expire: the run is over before that.  `prior` is the last
    run before that one which succeeded; here there are no others.
    """

    task_id: str
    xcoms: XComs = field(default_factory=dict)
    open_spark: Callable[[str], Any] = no_spark
    submit: Callable[[SparkApplication], None] = no_submit
    mapped: MappedXComs = field(default_factory=dict)
    map_index: int = -1
    secrets: TaskSecrets = field(default_factory=NoSecrets)
    open_driver: Callable[[str], Any] = no_spark
    prior: PriorRun | None = None
    virtualenvs: Path | None = None
    named: Callable[[str], None] = unnamed
    stores: StateStores = field(default_factory=dict)

    def get_connection(self, conn_id: str) -> Connection | None:
        """Return the connection of that id, None if there is none."""
        return self.secrets.get_connection(conn_id)

    def get_variable(self, key: str) -> str | None:
        """Return the text of the variable, None if there is none."""
        return self.secrets.get_variable(key)

    def pull_xcom(
        self, task_id: str, key: str, map_index: int = -1, of: RunName | None = None
    ) -> JsonValue:
        """Return what a task of the run left under `key`; KeyError when nothing."""
        if of is not None:
            raise KeyError(of)
        if map_index < 0:
            return self.xcoms[task_id, key]
        return self.mapped[task_id, key][map_index]

    def pull_xcoms(self, task_id: str, key: str, of: RunName | None = None) -> list[JsonValue]:
        """Return what the instances of a mapped task left, in order."""
        left = self.mapped.get((task_id, key), {}) if of is None else {}
        return [left[map_index] for map_index in sorted(left)]

    def latest_run(self, task_id: str, key: str, until: RunName) -> str | None:
        """Return the run itself, if the task left something: here there is no other."""
        there = (task_id, key) in self.xcoms or (task_id, key) in self.mapped
        return until.run_id if there else None

    def last_success(self) -> PriorRun | None:
        """Return `prior`."""
        return self.prior

    def trigger_run(self, wanted: RunWanted) -> None:
        """Create nothing: here there are no other runs."""

    def run_state(self, of: RunName) -> None:
        """Find none."""

    def push_xcom(self, key: str, value: JsonValue) -> None:
        """Leave a value under `key`."""
        if self.map_index < 0:
            self.xcoms[self.task_id, key] = value
        else:
            self.mapped.setdefault((self.task_id, key), {})[self.map_index] = value

    def read_store(self, key: str) -> JsonValue:
        """Return what the instance keeps under `key`; KeyError when nothing."""
        return deepcopy(self.stores[self.task_id, self.map_index][key])

    def write_store(
        self,
        key: str,
        value: JsonValue,
        retention: timedelta | None,  # noqa: ARG002
    ) -> None:
        """Keep a value under `key`."""
        self.stores.setdefault((self.task_id, self.map_index), {})[key] = value

    def clear_store(self, key: str | None) -> None:
        """Forget what the instance keeps under `key`, or all of it."""
        kept = self.stores.get((self.task_id, self.map_index), {})
        for name in list(kept) if key is None else [key]:
            kept.pop(name, None)

    def name_instance(self, name: str) -> None:
        """Tell `named`."""
        self.named(name)

    def xcom_length(self, task_id: str, key: str) -> int:
        """Return how many items there are in what a task left."""
        return len(self._items(task_id, key))

    def xcom_item(self, task_id: str, key: str, index: int) -> XComItem:
        """Return one item of what a task left."""
        return self._items(task_id, key)[index]

    def spark_session(self, conn_id: str) -> Any:
        """Return the session that `open_spark` opens."""
        return self.open_spark(conn_id)

    def spark_driver(self, conn_id: str) -> Any:
        """Return the session that `open_driver` opens."""
        return self.open_driver(conn_id)

    def submit_spark(self, application: SparkApplication) -> None:
        """Hand the application to `submit`."""
        self.submit(application)

    def _items(self, task_id: str, key: str) -> Sequence[XComItem]:
        if (task_id, key) in self.mapped:
            return self.pull_xcoms(task_id, key)
        items = items_of(self.xcoms[task_id, key])
        assert items is not None
        return items
