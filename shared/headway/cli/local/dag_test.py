"""`headway dags test`: one DAG run in this process, for the author of the DAG."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

from headway.cli.input.values import parse_date
from headway.cli.local.dag_test_code import bundle_root, tell_opened, version_code
from headway.cli.local.secrets import LocalSecrets
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.settle import RunCounts, TaskCounts, settle
from headway.domain.arguments import JsonValue
from headway.domain.dag.callbacks import CallbackEvent, run_event, task_event
from headway.domain.dag.names import instance_name
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import DagError, DagNotFoundError, EmbeddedError, HeadwayError
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, RunState, RunType, TaskState
from headway.domain.xcoms import length_of
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings import configuration
from headway.runtime.settings.secret_keys import provided_here
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.definition import DAG
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.context.build import build_context, build_run_context
from headway.sdk.harness.execution import Result, execute
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.context import Context, running_in
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import (
    LocalRuntime,
    MappedXComs,
    NoSecrets,
    TaskSecrets,
    XComs,
)
from headway.sdk.running.tracebacks import message_of, traceback_of
from headway.timetables import registry
from headway.timetables.sequence import runs_between

SPARK: Final = "headway.spark"
"""The entry point that gives Spark to a process that runs tasks itself."""

_BECOMES: Final = {
    Outcome.SUCCESS: TaskState.SUCCESS,
    Outcome.SKIPPED: TaskState.SKIPPED,
    Outcome.FAILED: TaskState.FAILED,
}


@dataclass(slots=True)
class TestRun:
    """A run in memory: its task instances one after the other, each tried once.

    `states` are those of the instances, by task and map_index; a task that is not mapped,
    or not yet expanded, has one instance, -1.
    """

    dag: DAG
    spec: DagSpec
    facts: Callable[[str, int], RunFacts]
    spark: "InProcessSpark"
    secrets: TaskSecrets = field(default_factory=NoSecrets)
    xcoms: XComs = field(default_factory=dict)
    mapped: MappedXComs = field(default_factory=dict)
    states: dict[str, dict[int, TaskState]] = field(default_factory=dict)
    skips: set[str] = field(default_factory=set)

    def run(self) -> RunState:
        """Run until the run has ended, and return how."""
        self.states = {task.task_id: {-1: TaskState.NONE} for task in self.spec.tasks}
        names = list(self.states)
        graph = DagGraph(self.spec)
        while True:
            task_counts = {name: self._task_counts(number) for number, name in enumerate(names)}
            run = RunCounts(0, graph, task_counts, self.skips, lengths=self._lengths())
            settlement = settle(run)
            for name, problem in settlement.problems.items():
                _say(name, problem)
            for number, instances in settlement.expansions.items():
                self._run_instances(names[number], range(instances))
            for state, numbers in settlement.moves.items():
                for number in numbers:
                    self._move(names[number], state)
            if settlement.run_state is not None:
                self._call_for_run(settlement.run_state)
                return settlement.run_state

    def _task_counts(self, number: int) -> TaskCounts:
        task = self.spec.tasks[number]
        states = self.states[task.task_id]
        undecided = (number,) if TaskState.NONE in states.values() else ()
        return TaskCounts(Counter(states.values()), undecided, bool(task.mapped_over))

    def _lengths(self) -> dict[tuple[str, str], int | None]:
        sources = {
            (source.task_id, source.key) for task in self.spec.tasks for source in task.mapped_over
        }
        return {(name, key): self._length(name, key) for name, key in sources if name is not None}

    def _length(self, task_id: str, key: str) -> int | None:
        states = self.states[task_id]
        if -1 not in states:
            return len(self.mapped.get((task_id, key), {}))
        length = length_of(self.xcoms.get((task_id, key)))
        if length is not None:
            return length
        return 0 if states[-1] is TaskState.SKIPPED else None

    def _move(self, task_id: str, state: TaskState) -> None:
        if state is TaskState.SCHEDULED:
            self._run_instances(task_id, (-1,))
        else:
            self.states[task_id] = {-1: state}
            _say(task_id, str(state))

    def _run_instances(self, task_id: str, indexes: Sequence[int]) -> None:
        self.states[task_id] = {
            map_index: self._run_instance(task_id, map_index) for map_index in indexes
        }

    def _run_instance(self, task_id: str, map_index: int) -> TaskState:
        name = instance_name(task_id, map_index)
        key = task_id if map_index < 0 else f"{task_id}-{map_index}"
        _say(name, "running")
        with ExitStack() as stack:
            runtime = LocalRuntime(
                task_id,
                self.xcoms,
                lambda conn_id: self.spark.session(key, stack, conn_id),
                lambda application: self.spark.submit(key, stack, application),
                self.mapped,
                map_index,
                self.secrets,
                lambda conn_id: self.spark.driver(key, stack, conn_id),
            )
            facts, task = self.facts(task_id, map_index), self.dag.task_dict[task_id]
            result = self._advised(execute(task, facts, runtime))
        self.skips.update(result.skip_tasks)
        if result.outcome is not Outcome.SUCCESS:
            self._forget(task_id, map_index)
        _tell(name, result)
        state = _BECOMES[result.outcome]
        event = task_event(task.spec.callbacks, result.outcome, state)
        if event is not None:
            context = build_context(task, replace(facts, task_state=state), runtime)
            _call(name, task.calls_on, event, (result.outcome, result.error), context)
        return state

    def _advised(self, result: Result) -> Result:
        """Return the result with what to do about a file that the version lacks."""
        advice = None
        if result.error is not None:
            advice = self.spark.code.advice(result.error, self.spec.relative_path)
        return replace(result, error=f"{result.error}\n{advice}") if advice else result

    def _call_for_run(self, state: RunState) -> None:
        ended = run_event(self.spec.callbacks, state, told=False, timed_out=False)
        if ended is not None:
            event, reason = ended
            facts = replace(self.facts("", -1), run_state=state)
            runtime = LocalRuntime("", self.xcoms, mapped=self.mapped)
            context = build_run_context(self.dag, facts, runtime)
            _call(self.dag.dag_id, self.dag.calls_on, event, (reason, None), context)

    def _forget(self, task_id: str, map_index: int) -> None:
        """Leave an instance that has not succeeded out of its task's results."""
        for (name, _), left in self.mapped.items():
            if name == task_id:
                left.pop(map_index, None)


@dataclass(slots=True)
class InProcessSpark:
    """Spark for this process; its server starts when a task first asks for it."""

    code: BundleCode
    ending: ExitStack
    _spark: Any = None

    def session(self, key: str, stack: ExitStack, conn_id: str) -> Any:
        """Return a session of the instance's own, closed with `stack`."""
        return self._access(key, stack).spark_session(conn_id)

    def driver(self, key: str, stack: ExitStack, conn_id: str) -> Any:
        """Return the session of a driver of the instance's own, which ends with `stack`."""
        return self._access(key, stack).spark_driver(conn_id)

    def submit(self, key: str, stack: ExitStack, application: Any) -> None:
        """Run an application with spark-submit."""
        self._access(key, stack).submit_spark(application)

    def _access(self, key: str, stack: ExitStack) -> Any:
        if self._spark is None:
            found = tuple(entry_points(group=SPARK))
            if not found:
                raise EmbeddedError("No worker is installed here, which brings Spark.")
            opened: AbstractContextManager[Any] = found[0].load()(configuration.environment())
            self._spark = self.ending.enter_context(opened)
        access = self._spark.access(f"test-{key}", self.code)
        stack.callback(access.close)
        return access


def run_dag(
    file: Path, dag_id: str, date: str | None, conf: Mapping[str, JsonValue], now: datetime
) -> int:
    """Run the DAG for the interval that starts on that date, else for the last complete one.

    Return 0 when the run succeeds, 1 when it fails.
    """
    root = bundle_root(file.absolute())
    path = file.absolute().relative_to(root).as_posix()
    with version_code(root, path) as code:
        dags = {dag.dag_id: dag for dag in _load(code, path)}
        if dag_id not in dags:
            known = ", ".join(sorted(dags)) or "none"
            raise DagNotFoundError(f"{file} makes no DAG {dag_id!r}; it makes: {known}.")
        succeeded = _run(dags[dag_id], code, path, _Wanted(date, conf, now))
        tell_opened(code, path)
    return 0 if succeeded else 1


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked for: an interval by its start, and the run's conf."""

    date: str | None
    conf: Mapping[str, JsonValue]
    now: datetime


def _run(dag: DAG, code: BundleCode, path: str, wanted: _Wanted) -> bool:
    now, spec = wanted.now, to_spec(dag, path)
    interval = _interval(spec, wanted.date, now)
    clock = SystemClock()
    started = clock.monotonic()

    def facts(task_id: str, map_index: int) -> RunFacts:
        return RunFacts(
            dag_id=dag.dag_id,
            run_id=f"test__{interval.start.isoformat()}",
            task_id=task_id,
            data_interval=interval,
            run_type=RunType.MANUAL,
            logical_date=interval.start,
            run_after=now,
            start_date=now,
            conf=wanted.conf,
            map_index=map_index,
        )

    print(f"{dag.dag_id}: data interval {interval.start.isoformat()} to {interval.end.isoformat()}")
    with ExitStack() as ending:
        spark, secrets = InProcessSpark(code, ending), LocalSecrets(provided_here())
        state = TestRun(dag, spec, facts, spark, secrets).run()
    print(f"{dag.dag_id}: {state} in {clock.monotonic() - started:.1f} s")
    return state is RunState.SUCCESS


def _load(code: BundleCode, path: str) -> list[DAG]:
    try:
        return load_dag_file(code.root / path, code.root, code)
    except HeadwayError:
        raise
    except Exception as error:
        shown = traceback_of(error, __file__) or message_of(error)
        raise DagError(f"{path} cannot be imported:\n{shown}") from error


def _interval(spec: DagSpec, date: str | None, now: datetime) -> DataInterval:
    timetable = registry.decode(spec.timetable)
    if date is None:
        return timetable.infer_manual_data_interval(now)
    start = parse_date(date, spec.timezone)
    for info in runs_between(timetable, spec.start_date, start, start):
        return info.data_interval
    return timetable.infer_manual_data_interval(start)


def _call(
    name: str,
    given: callbacks.Callbacks,
    event: CallbackEvent,
    why: tuple[str, str | None],
    context: Context,
) -> None:
    _say(name, f"calling back for {event}")
    callbacks.tell_why(context, event, *why)
    with running_in(context):
        for problem in callbacks.call(given[event], context):
            _say(name, f"callback failed: {problem}")


def _say(task_id: str, what: str) -> None:
    print(f"[{task_id}] {what}", flush=True)


def _tell(task_id: str, result: Result) -> None:
    if result.traceback:
        print(result.traceback)
    _say(task_id, f"{result.outcome}{f': {result.error}' if result.error else ''}")
