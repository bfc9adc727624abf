"""Run one task in this process, and say how it ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headway.domain.arguments import RETURN_VALUE
from headway.domain.errors import DagError, RefusalError
from headway.domain.states import Outcome
from headway.sdk.authoring import callbacks
from headway.sdk.authoring.expansion import Items, check_expandable
from headway.sdk.authoring.mapped import MappedOperator
from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.context.build import build_context
from headway.sdk.context.templates import rendered
from headway.sdk.context.told_environment import tell_environment
from headway.sdk.exceptions import AirflowFailException, AirflowSkipException, XComError
from headway.sdk.harness.killing import minding_kill
from headway.sdk.harness.naming import naming
from headway.sdk.operators.spark_submit import SparkSubmitOperator
from headway.sdk.running.context import Context, running_in
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.retry_policy import decide_retry
from headway.sdk.running.task_runtime import TaskRuntime
from headway.sdk.running.tracebacks import message_of, traceback_of
from headway.sdk.xcoms.codec import encode_xcom


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How an attempt ended, in the task's own words.

    `retry_delay`, in seconds, takes the place of the task's own, if a retry policy says so.
    `traceback` leads through the user's code only.  `skip_tasks` are the
    tasks below that a branch or a short circuit decided against.
    """

    outcome: Outcome
    error: str | None = None
    traceback: str | None = None
    may_retry: bool = True
    retry_delay: float | None = None
    skip_tasks: tuple[str, ...] = ()


def execute(operator: BaseOperator, facts: RunFacts, runtime: TaskRuntime) -> Result:
    """Render the task's templates, run it, and push what it returns.

    Of a mapped task it is the instance that `facts` name.  Whatever user code raises
    becomes a Result; only an interrupt goes through.  The time limit of the task is the
    supervisor's to enforce.  The attempt's variables stay in the environment of this process: a
    caller whose process goes on has `environment_kept` around this.
    """
    return _isolated(operator, facts, runtime, _run)


def end_application(operator: BaseOperator, facts: RunFacts, runtime: TaskRuntime) -> Result:
    """Have what an earlier attempt of the task has left on a cluster ended, and run nothing.

    Its templates say how the cluster is reached; the runtime knows that it is called off.
    """
    return _isolated(operator, facts, runtime, _end)


def _isolated(
    operator: BaseOperator,
    facts: RunFacts,
    runtime: TaskRuntime,
    do: Callable[[BaseOperator, Context], tuple[str, ...]],
) -> Result:
    """Do that with the rendered task, or the instance of a mapped one; it returns what to skip."""
    task, items = operator, Items({})
    context: Context | None = None
    try:
        if isinstance(operator, MappedOperator):
            task, items = operator.instance(runtime, facts.map_index)
        context = build_context(task, facts, runtime)
        tell_environment(context)
        with running_in(context):
            task = rendered(task, context, items.untouched)
            skips = do(task, context)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - this is where an attempt is isolated
        return _failure(error, task, facts, context)
    return Result(outcome=Outcome.SUCCESS, skip_tasks=skips)


def _run(task: BaseOperator, context: Context) -> tuple[str, ...]:
    callbacks.call(task.calls_first, context)
    with naming(task, context), minding_kill(task):
        for check in task.run_conditions:
            check(context)
        task.pre_execute(context)
        returned = task.execute(context)
        task.post_execute(context, returned)
    _push(task, returned, context)
    return tuple(sorted(task.skipped_task_ids))


def _end(task: BaseOperator, context: Context) -> tuple[str, ...]:
    if not isinstance(task, SparkSubmitOperator):
        raise DagError(
            f"In the run's version of the DAG the task {task.task_id!r} is none of spark-submit, "
            "so that what an earlier attempt has left on a cluster cannot be ended by it."
        )
    context.runtime.submit_spark(task.spark_application())
    return ()


def _push(operator: BaseOperator, returned: object, context: Context) -> None:
    if not operator.do_xcom_push:
        return
    if context["map_index"] < 0:
        check_expandable(operator, RETURN_VALUE, returned)
    if returned is None:
        return
    where = f"The return value of task {operator.task_id!r}"
    value = encode_xcom(returned, where)
    if operator.multiple_outputs:
        if not isinstance(returned, Mapping):
            raise XComError(f"{where} must be a dictionary, because it has multiple_outputs.")
        for key, item in returned.items():
            if not isinstance(key, str):
                raise XComError(
                    f"{where} has multiple_outputs and the key {key!r}; name each XCom with a "
                    "string, or pass multiple_outputs=False."
                )
            context["ti"].xcom_push(str.__str__(key), item)
    context.runtime.push_xcom(RETURN_VALUE, value)


def _failure(
    error: BaseException, operator: BaseOperator, facts: RunFacts, context: Context | None
) -> Result:
    if isinstance(error, AirflowSkipException):
        return Result(outcome=Outcome.SKIPPED, error=message_of(error))
    if isinstance(error, SystemExit):
        message = f"The task called sys.exit({error.code!r}); return from the function instead."
    else:
        message = message_of(error)
    again, delay = False, None
    if not isinstance(error, AirflowFailException):
        policy = operator.retry_policy
        again, delay = decide_retry(operator.spec, policy, error, facts.try_number, context)
    if isinstance(error, RefusalError) and operator.spec.retries and not again:
        message = f"{message} The task is not tried again, for this would be refused again."
    return Result(
        outcome=Outcome.FAILED,
        error=message,
        traceback=traceback_of(error),
        may_retry=again,
        retry_delay=delay,
    )
