"""`headway dags test`: one DAG run in this process, for the author of the DAG."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from headway.cli.values import parse_date
from headway.decide.settle import RunStanding, TaskStanding, settle
from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError, EmbeddedError, HeadwayError, NotFoundError
from headway.domain.interval import DataInterval
from headway.domain.spec import DagSpec
from headway.domain.states import Outcome, RunState, RunType, TaskState
from headway.runtime import settings
from headway.runtime.clock import SystemClock
from headway.sdk.definition import DAG
from headway.sdk.execution import Result, execute
from headway.sdk.facts import RunFacts
from headway.sdk.loading import load_dag_file
from headway.sdk.runtime import LocalRuntime
from headway.sdk.specification import to_spec
from headway.sdk.tracebacks import message_of, traceback_of
from headway.timetables import registry
from headway.timetables.base import iter_dagrun_infos_between

SPARK: Final = "headway.spark"
"""The entry point that gives Spark to a process that runs tasks itself."""

_BECOMES: Final = {
    Outcome.SUCCESS: TaskState.SUCCESS,
    Outcome.SKIPPED: TaskState.SKIPPED,
    Outcome.FAILED: TaskState.FAILED,
}


@dataclass(slots=True)
class TestRun:
    """A run in memory: its tasks one after the other, each tried once."""

    dag: DAG
    spec: DagSpec
    facts: Callable[[str], RunFacts]
    spark: "LocalSpark"
    xcoms: dict[tuple[str, str], JsonValue] = field(default_factory=dict)
    states: dict[str, TaskState] = field(default_factory=dict)
    skips: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def run(self) -> RunState:
        """Run until the run has ended, and return how."""
        self.states = {task.task_id: TaskState.NONE for task in self.spec.tasks}
        names = list(self.states)
        while True:
            standings = [
                TaskStanding(number, name, self.states[name], self.skips.get(name, ()))
                for number, name in enumerate(names)
            ]
            settlement = settle(RunStanding(0, self.spec, standings))
            if settlement.run_state is not None:
                return settlement.run_state
            for state, ids in settlement.moves.items():
                for number in ids:
                    self.states[names[number]] = state
                    if state is TaskState.SCHEDULED:
                        self._run_task(names[number])
                    else:
                        _say(names[number], str(state))

    def _run_task(self, task_id: str) -> None:
        _say(task_id, "running")
        with ExitStack() as stack:
            runtime = LocalRuntime(
                task_id,
                self.xcoms,
                lambda: self.spark.session(task_id, stack),
                lambda application: self.spark.submit(task_id, stack, application),
            )
            result = execute(self.dag.task_dict[task_id], self.facts(task_id), runtime)
        self.states[task_id] = _BECOMES[result.outcome]
        self.skips[task_id] = result.skip_tasks
        _tell(task_id, result)


@dataclass(slots=True)
class LocalSpark:
    """Spark for this process; its server starts when a task first asks for it."""

    bundle_root: Path
    ending: ExitStack
    _spark: Any = None

    def session(self, task_id: str, stack: ExitStack) -> Any:
        """Return a session of the task's own, closed with `stack`."""
        return self._access(task_id, stack).spark_session()

    def submit(self, task_id: str, stack: ExitStack, application: Any) -> None:
        """Run an application with spark-submit."""
        self._access(task_id, stack).submit_spark(application)

    def _access(self, task_id: str, stack: ExitStack) -> Any:
        if self._spark is None:
            found = tuple(entry_points(group=SPARK))
            if not found:
                raise EmbeddedError("No worker is installed here, which brings Spark.")
            opened: AbstractContextManager[Any] = found[0].load()(settings.environment())
            self._spark = self.ending.enter_context(opened)
        access = self._spark.access(f"test-{task_id}", self.bundle_root)
        stack.callback(access.close)
        return access


def run_dag(
    file: Path, dag_id: str, date: str | None, conf: Mapping[str, JsonValue], now: datetime
) -> int:
    """Run the DAG for the interval that starts on that date, else for the last complete one.

    Return 0 when the run succeeds, 1 when it fails.
    """
    root = file.absolute().parent
    dags = {dag.dag_id: dag for dag in _load(file.absolute(), root)}
    if dag_id not in dags:
        known = ", ".join(sorted(dags)) or "none"
        raise NotFoundError(f"{file} makes no DAG {dag_id!r}; it makes: {known}.")
    spec = to_spec(dags[dag_id], file.name)
    interval = _interval(spec, date, now)
    clock = SystemClock()
    started = clock.monotonic()

    def facts(task_id: str) -> RunFacts:
        return RunFacts(
            dag_id=dag_id,
            run_id=f"test__{interval.start.isoformat()}",
            task_id=task_id,
            data_interval=interval,
            run_type=RunType.MANUAL,
            logical_date=interval.start,
            run_after=now,
            start_date=now,
            conf=conf,
        )

    print(f"{dag_id}: data interval {interval.start.isoformat()} to {interval.end.isoformat()}")
    with ExitStack() as ending:
        state = TestRun(dags[dag_id], spec, facts, LocalSpark(root, ending)).run()
    print(f"{dag_id}: {state} in {clock.monotonic() - started:.1f} s")
    return 0 if state is RunState.SUCCESS else 1


def _load(file: Path, root: Path) -> list[DAG]:
    try:
        return load_dag_file(file, root)
    except HeadwayError:
        raise
    except Exception as error:
        shown = traceback_of(error, __file__) or message_of(error)
        raise DagError(f"{file.name} cannot be imported:\n{shown}") from error


def _interval(spec: DagSpec, date: str | None, now: datetime) -> DataInterval:
    timetable = registry.decode(spec.timetable)
    if date is None:
        return timetable.infer_manual_data_interval(now)
    start = parse_date(date, spec.timezone)
    for info in iter_dagrun_infos_between(timetable, start, start, now):
        return info.data_interval
    return timetable.infer_manual_data_interval(start)


def _say(task_id: str, what: str) -> None:
    print(f"[{task_id}] {what}", flush=True)


def _tell(task_id: str, result: Result) -> None:
    if result.traceback:
        print(result.traceback)
    _say(task_id, f"{result.outcome}{f': {result.error}' if result.error else ''}")
