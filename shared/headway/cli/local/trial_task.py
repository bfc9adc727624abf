"""One task in this process: it runs, what it comes to is told, and its functions are called."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, Protocol

from headway.cli.input.values import parse_date
from headway.domain.arguments import JsonValue
from headway.domain.dag.callbacks import CallbackEvent, run_event, task_event
from headway.domain.dag.names import instance_name
from headway.domain.dag.params import check_conf
from headway.domain.dag.spec import DagSpec
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, RunState, RunType, TaskState
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings import configuration
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.definition import DAG
from headway.sdk.context.build import build_context, build_run_context
from headway.sdk.context.told_environment import environment_kept
from headway.sdk.harness.execution import Result, execute
from headway.sdk.running.context import Context, running_in
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import (
    LocalRuntime,
    MappedXComs,
    NoSecrets,
    SparkApplication,
    StateStores,
    TaskSecrets,
    XComs,
)
from headway.timetables import registry
from headway.timetables.sequence import runs_between

STATES: Final = {
    Outcome.SUCCESS: TaskState.SUCCESS,
    Outcome.SKIPPED: TaskState.SKIPPED,
    Outcome.FAILED: TaskState.FAILED,
}
"""The state of an instance that was tried once, by the outcome of that."""


class SparkOfTask(Protocol):
    """What a task of this process may ask of Spark."""

    def spark_session(self, conn_id: str) -> Any:
        """Return the session that the task works with."""

    def spark_driver(self, conn_id: str) -> Any:
        """Return the session of a driver of the task's own."""

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit."""


@dataclass(slots=True, kw_only=True)
class Trial:
    """A run in memory, whose task instances are tried once each.

    With `retries`, one that fails and keeps something in its state store is tried again, at once.
    `facts` are those of the run.  `spark` gives an instance its Spark by a key, and closes it
    with a stack.  `advise` says what to do about an error, if there is something to say.
    """

    dag: DAG
    facts: RunFacts
    spark: Callable[[str, ExitStack], SparkOfTask]
    secrets: TaskSecrets = field(default_factory=NoSecrets)
    advise: Callable[[str], str | None] = lambda _error: None
    runtime: type[LocalRuntime] = LocalRuntime
    xcoms: XComs = field(default_factory=dict)
    mapped: MappedXComs = field(default_factory=dict)
    stores: StateStores = field(default_factory=dict)
    retries: bool = False
    ended: list[RunFacts] = field(default_factory=list)

    def attempt(self, task_id: str, map_index: int) -> Result:
        """Run one instance; tell how it ended, and call the functions of the task for that."""
        try_number = self.facts.try_number
        while True:
            result, is_last = self._try(task_id, map_index, try_number)
            if is_last:
                return result
            try_number += 1

    def _try(self, task_id: str, map_index: int, try_number: int) -> tuple[Result, bool]:
        """Make one attempt; return its result, and whether it is the last one."""
        name = instance_name(task_id, map_index)
        key = task_id if map_index < 0 else f"{task_id}-{map_index}"
        say(name, "running")
        task, clock = self.dag.get_task(task_id), SystemClock()
        facts = replace(
            self.facts,
            task_id=task_id,
            map_index=map_index,
            try_number=try_number,
            started_at=clock.now(),
        )
        with ExitStack() as stack, environment_kept():
            runtime = self._runtime(task_id, map_index, key, stack)
            result = self._advised(execute(task, facts, runtime))
        is_last = not self._goes_on(facts, task.retries, result)
        if result.outcome is not Outcome.SUCCESS:
            self._forget(task_id, map_index, is_last)
        _tell(name, result)
        state = STATES[result.outcome] if is_last else TaskState.UP_FOR_RETRY
        event = task_event(task.spec.callbacks, result.outcome, state)
        facts = replace(facts, task_state=state, ended_at=clock.now())
        if is_last:
            self.ended.append(facts)
        else:
            say(name, "is tried again, for it keeps something in task_state_store")
        if event is not None:
            context = build_context(task, facts, runtime)
            _call(name, task.calls_on, event, (result.outcome, result.error), context)
        return result, is_last

    def _goes_on(self, facts: RunFacts, retries: int, result: Result) -> bool:
        """Tell whether a next attempt goes on with what this one keeps."""
        return (
            self.retries
            and result.outcome is Outcome.FAILED
            and result.may_retry
            and facts.try_number <= retries
            and bool(self.stores.get((facts.task_id, facts.map_index)))
        )

    def call_for_run(self, spec: DagSpec, state: RunState) -> None:
        """Call the functions of the DAG for the state in which the run has ended."""
        ended = run_event(spec.callbacks, state, told=False, timed_out=False)
        if ended is not None:
            event, reason = ended
            runtime = LocalRuntime("", self.xcoms, mapped=self.mapped, secrets=self.secrets)
            context = self._context_of_end(state, runtime)
            _call(self.dag.dag_id, self.dag.calls_on, event, (reason, None), context)

    def _context_of_end(self, state: RunState, runtime: LocalRuntime) -> Context:
        """Return the context of the run's end: with the last task, of a failure one that failed."""
        failed = [facts for facts in self.ended if facts.task_state is TaskState.FAILED]
        about = (failed if failed and state is RunState.FAILED else self.ended)[-1:]
        if not about:
            return build_run_context(self.dag, replace(self.facts, run_state=state), runtime)
        facts = replace(about[0], run_state=state)
        return build_context(self.dag.task_dict[facts.task_id], facts, runtime)

    def _runtime(self, task_id: str, map_index: int, key: str, stack: ExitStack) -> LocalRuntime:
        return self.runtime(
            task_id,
            self.xcoms,
            lambda conn_id: self.spark(key, stack).spark_session(conn_id),
            lambda application: self.spark(key, stack).submit_spark(application),
            self.mapped,
            map_index,
            self.secrets,
            lambda conn_id: self.spark(key, stack).spark_driver(conn_id),
            virtualenvs=configuration.home() / "cache" / "virtualenvs",
            named=lambda name: say(instance_name(task_id, map_index), f"is {name!r}"),
            stores=self.stores,
        )

    def _advised(self, result: Result) -> Result:
        """Return the result with what to do about a file that the version lacks."""
        advice = None if result.error is None else self.advise(result.error)
        return replace(result, error=f"{result.error}\n{advice}") if advice else result

    def _forget(self, task_id: str, map_index: int, is_last: bool) -> None:
        """Leave an instance that has not succeeded out of its task's results.

        What one that is not mapped has left stays, until it is tried again.
        """
        if not is_last:
            for key in [key for key in self.xcoms if key[0] == task_id]:
                del self.xcoms[key]
        for (name, _), left in self.mapped.items():
            if name == task_id:
                left.pop(map_index, None)


def run_facts(
    spec: DagSpec,
    interval: DataInterval,
    conf: Mapping[str, JsonValue],
    now: datetime,
    run_after: datetime | None = None,
) -> RunFacts:
    """Return the facts of a manual run for that interval, which starts now.

    RequestError for a conf that the DAG's params refuse.
    """
    check_conf(spec, conf)
    return RunFacts(
        dag_id=spec.dag_id,
        run_id=f"test__{interval.start.isoformat()}",
        task_id="",
        data_interval=interval,
        run_type=RunType.MANUAL,
        logical_date=interval.start,
        run_after=run_after or now,
        start_date=now,
        conf=conf,
    )


def interval_of(spec: DagSpec, date: str | datetime | None, now: datetime) -> DataInterval:
    """Return the interval that starts on that date, else the last complete one."""
    timetable = registry.decode(spec.timetable)
    if date is None:
        return timetable.infer_manual_data_interval(now)
    start = parse_date(date, spec.timezone) if isinstance(date, str) else date
    for info in runs_between(timetable, spec.start_date, start, start):
        return info.data_interval
    return timetable.infer_manual_data_interval(start)


def say(task_id: str, what: str) -> None:
    """Print a line about a task, or about the run."""
    print(f"[{task_id}] {what}", flush=True)


def _call(
    name: str,
    given: callbacks.Callbacks,
    event: CallbackEvent,
    why: tuple[str, str | None],
    context: Context,
) -> None:
    say(name, f"calling back for {event}")
    callbacks.tell_why(context, event, *why)
    with running_in(context):
        for problem in callbacks.call(given[event], context):
            say(name, f"callback failed: {problem}")


def _tell(task_id: str, result: Result) -> None:
    if result.traceback:
        print(result.traceback)
    say(task_id, f"{result.outcome}{f': {result.error}' if result.error else ''}")
