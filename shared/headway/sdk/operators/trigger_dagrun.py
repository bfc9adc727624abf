"""TriggerDagRunOperator: have a run of another DAG created, and wait for its end if wanted."""

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from threading import Event
from typing import Any, ClassVar, Final, Unpack

from headway.domain.arguments import JsonValue
from headway.domain.dag.names import check_key, check_run_id
from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted
from headway.domain.errors import DagError
from headway.domain.states import RunState, RunType
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.authoring.xcom_arg import LATE, XComArg
from headway.sdk.exceptions import (
    AirflowException,
    AirflowFailException,
    AirflowSkipException,
)
from headway.sdk.running.context import Context
from headway.sdk.running.task_runtime import RunName, TaskRuntime
from headway.sdk.values import checks
from headway.sdk.values.xcom import check_json

XCOM_RUN_ID: Final = "trigger_run_id"

_STATES: Final = checks.choice(RunState)


class TriggerOptions(TaskOptions, total=False):
    """What a task that triggers a DAG takes besides the DAG's id."""

    trigger_run_id: str | XComArg | None
    conf: Mapping[str, Any] | str | XComArg | None
    logical_date: str | datetime | XComArg | None
    reset_dag_run: bool
    wait_for_completion: bool | str
    poke_interval: timedelta | float
    allowed_states: Collection[RunState | str] | None
    failed_states: Collection[RunState | str] | None
    skip_when_already_exists: bool | str
    fail_when_dag_is_paused: bool
    note: str | None
    deferrable: bool


class TriggerDagRunOperator(BaseOperator):
    """Trigger the DAG `trigger_dag_id`, which is in the same bundle; its run id is an XCom.

    The run is as if at `logical_date`, by default at this moment, and has the `conf`.  If there is
    a run of that id, the task fails; it is skipped with `skip_when_already_exists`, and with
    `reset_dag_run` the run runs again, if it has ended.  With `wait_for_completion` the task looks
    every `poke_interval` for one of the `allowed_states`, and fails at one of `failed_states`.
    """

    template_fields: ClassVar[Sequence[str]] = (
        "trigger_dag_id",
        "trigger_run_id",
        "logical_date",
        "conf",
        "wait_for_completion",
        "skip_when_already_exists",
    )
    template_fields_renderers: ClassVar[Mapping[str, str]] = {"conf": "py"}
    operator_name = "trigger_dagrun"

    def __init__(
        self, *, task_id: str, trigger_dag_id: str | XComArg, **options: Unpack[TriggerOptions]
    ) -> None:
        given: dict[str, Any] = dict(options)
        self.trigger_dag_id = trigger_dag_id
        self.trigger_run_id = given.pop("trigger_run_id", None)
        self.conf = given.pop("conf", None)
        self.logical_date = given.pop("logical_date", None)
        self.reset_dag_run = given.pop("reset_dag_run", False)
        self.wait_for_completion = given.pop("wait_for_completion", False)
        self.poke_interval = given.pop("poke_interval", 60)
        allowed, failed = given.pop("allowed_states", None), given.pop("failed_states", None)
        self.skip_when_already_exists = given.pop("skip_when_already_exists", False)
        self.fail_when_dag_is_paused = given.pop("fail_when_dag_is_paused", False)
        self.note = given.pop("note", None)
        self.deferrable = given.pop("deferrable", False)
        super().__init__(task_id, **given)
        try:
            self.allowed_states = _states(allowed or [RunState.SUCCESS], "allowed_states")
            failed = [RunState.FAILED] if failed is None else failed
            self.failed_states = _states(failed, "failed_states")
            self._check()
        except DagError as error:
            raise DagError(f"{self.where}: {error}") from None

    def execute(self, context: Context) -> None:
        """Have the run created, and wait for its end if that is wanted."""
        wanted = self._wanted()
        answer = context.runtime.trigger_run(wanted)
        run_id = self._rehearsed(wanted) if answer is None else self._accepted(wanted, answer)
        context["ti"].xcom_push(XCOM_RUN_ID, run_id)
        if answer is not None and wanted.waits:
            self._wait(context.runtime, RunName(wanted.dag_id, run_id))

    def _rehearsed(self, wanted: RunWanted) -> str:
        """Say what would be triggered; return what the run would be called."""
        from headway.runtime.daemon.clock import SystemClock

        date = wanted.logical_date or SystemClock().now()
        run_id = wanted.run_id or RunType.MANUAL.run_id(date)
        told = wanted.dag_id, run_id, json.dumps(dict(wanted.conf))
        # A warning, for the logger of a program that has set up none shows nothing else.
        self.log.warning(
            "In a test no run is triggered: DAG %s would get run %s with conf %s.", *told
        )
        return run_id

    def _wanted(self) -> RunWanted:
        run_id, dag_id = self.trigger_run_id, check_key("DAG", self.trigger_dag_id)
        return RunWanted(
            dag_id=dag_id,
            run_id=check_run_id(str(run_id)) if run_id else None,
            logical_date=_date(self.logical_date, f"{self.where}: logical_date"),
            conf=_conf(self.conf, f"{self.where}: conf"),
            reset=self.reset_dag_run,
            unless_paused=self.fail_when_dag_is_paused,
            waits=_flag(self.wait_for_completion, f"{self.where}: wait_for_completion"),
            note=self.note,
        )

    def _accepted(self, wanted: RunWanted, answer: RunAnswer) -> str:
        """Return the id of the run; an exception where there is none."""
        run = f"run {answer.run_id} of DAG {wanted.dag_id}"
        match answer.answer:
            case RequestAnswer.REFUSED:
                raise AirflowException(answer.reason)
            case RequestAnswer.EXISTS:
                where = f"{self.where}: skip_when_already_exists"
                if _flag(self.skip_when_already_exists, where):
                    raise AirflowSkipException(f"There is a {run} already.")
                raise AirflowFailException(
                    f"There is a {run} already; give another trigger_run_id or logical_date, "
                    "reset_dag_run=True, or skip_when_already_exists=True."
                )
        done = "has been reset" if answer.answer is RequestAnswer.RESET else "has been triggered"
        self.log.info("The %s %s.", run, done)
        assert answer.run_id is not None
        return answer.run_id

    def _wait(self, runtime: TaskRuntime, name: RunName) -> None:
        from headway.runtime.daemon.clock import SystemClock

        clock = SystemClock()
        run, before = f"run {name.run_id} of DAG {name.dag_id}", None
        while True:
            state = runtime.run_state(name)
            if state is None:
                raise AirflowException(f"The {run} has been deleted.")
            if state in self.failed_states:
                raise AirflowException(f"The {run} is {state}, which is one of failed_states.")
            if state in self.allowed_states:
                self.log.info("The %s is %s.", run, state)
                return
            if state is not before:
                allowed = " or ".join(self.allowed_states)
                self.log.info("The %s is %s; this task waits until it is %s.", run, state, allowed)
            before = state
            clock.wait(Event(), self._seconds)

    def _check(self) -> None:
        for name, check in _CHECKS.items():
            check(getattr(self, name), name)
        if isinstance(self.trigger_dag_id, str) and not _has_template(self.trigger_dag_id):
            check_key("DAG", self.trigger_dag_id)
        interval = checks.time_limit(self.poke_interval, "poke_interval")
        self._seconds: float = interval.total_seconds()
        if self.deferrable:
            raise DagError(
                "deferrable=True is not there yet; leave it out: the task waits in its slot."
            )


def _any_of(wanted: str, *kinds: type) -> checks.Check:
    """Make the check of a template field, which may be the output of another task."""

    def check(value: object, where: str) -> None:
        if not isinstance(value, (*kinds, *LATE)):
            checks.refuse(where, wanted, value)

    return check


_NONE: Final = type(None)

_CHECKS: Final[Mapping[str, checks.Check]] = {
    "trigger_dag_id": _any_of("the id of a DAG", str),
    "trigger_run_id": _any_of("the id of a run", str, _NONE),
    "conf": _any_of("a dictionary", Mapping, str, _NONE),
    "logical_date": _any_of("a datetime, or its text", datetime, str, _NONE),
    "wait_for_completion": _any_of("True or False", bool, str),
    "skip_when_already_exists": _any_of("True or False", bool, str),
    "reset_dag_run": checks.flag,
    "fail_when_dag_is_paused": checks.flag,
    "deferrable": checks.flag,
    "note": checks.optional(checks.text),
}


def _states(value: object, where: str) -> list[RunState]:
    if isinstance(value, str) or not isinstance(value, Collection):
        checks.refuse(where, "a list of states of runs", value)
    return [_STATES(state, where) for state in value]


def _has_template(value: str) -> bool:
    return "{{" in value or "{%" in value


def _flag(value: object, where: str) -> bool:
    """Return what a flag is, or the text that its template has become."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return checks.flag(value, where)


def _date(value: object, where: str) -> datetime | None:
    """Return a date; one without a time zone is in UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            checks.refuse(where, "a date like 2013-01-01T00:00:00+00:00", value)
    return None if value is None else checks.date_of_schedule(value, where)


def _conf(value: object, where: str) -> dict[str, JsonValue]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            checks.refuse(where, "JSON", value)
    found = check_json({} if value is None else value, where)
    if not isinstance(found, dict):
        checks.refuse(where, "a dictionary", value)
    return found
