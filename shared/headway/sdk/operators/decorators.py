"""The decorators `@task`, `@task.bash`, … that turn functions into makers of tasks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    ParamSpec,
    TypeAlias,
    TypeVar,
    Unpack,
    cast,
    get_origin,
    overload,
)

from headway.domain.errors import DagError
from headway.sdk.authoring.blueprint import FunctionBlueprint
from headway.sdk.authoring.current import current_dag
from headway.sdk.authoring.definition import DAG
from headway.sdk.authoring.groups.group_decorator import GroupFactory
from headway.sdk.authoring.groups.task_group import TaskGroup, group_for
from headway.sdk.authoring.mapped import expand, expand_kwargs, mapped_task
from headway.sdk.authoring.operator import BaseOperator, defaults, place
from headway.sdk.authoring.python_operator import PythonOperator, check_call
from headway.sdk.authoring.xcom_arg import XComArg
from headway.sdk.operators.bash import DecoratedBashOperator
from headway.sdk.operators.branch import BranchPythonOperator, ShortCircuitOperator
from headway.sdk.operators.conditions import Check, Condition, check
from headway.sdk.operators.pyspark import PysparkOperator
from headway.sdk.operators.spark_sql import DecoratedSparkSQLOperator
from headway.sdk.operators.virtualenv import (
    BranchExternalPythonOperator,
    BranchPythonVirtualenvOperator,
    ExternalPythonOperator,
    PythonVirtualenvOperator,
)
from headway.sdk.values.checks import shown
from headway.sdk.values.names import call_of, doc_of, name_of

if TYPE_CHECKING:
    from headway.sdk.operators.typed_decorators import (
        AnyTaskOptions,
        Decorator,
        TakesSpark,
        TaskDecorators,
    )

P = ParamSpec("P")
R = TypeVar("R")

_OF_CALLS: Final = frozenset({"python_callable", "op_args", "op_kwargs"})

OperatorClass: TypeAlias = (
    type[PythonOperator] | type[DecoratedBashOperator] | type[DecoratedSparkSQLOperator]
)


@dataclass(eq=False)
class TaskFactory(Generic[P, R]):
    """A decorated function: each call makes a task of the current DAG.

    The arguments may be outputs of other tasks, which the new one then waits for.
    `function` is the plain function, for a test to call; `fixed` are the arguments that
    `partial` has given it.  `conditions` are those of `run_if` and `skip_if`.
    """

    function: Callable[..., R]
    operator: OperatorClass
    options: Mapping[str, Any] = field(default_factory=dict)
    mark: Callable[[BaseOperator], object] | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    conditions: tuple[Check, ...] = ()
    _told: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise DagError(f"@task decorates functions, not {shown(self.function)}.")
        self._told = _told_by(self.function)
        own = dict(vars(self))
        update_wrapper(self, self.function)
        vars(self).update(own)  # an object that is called may have attributes of these names

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> XComArg: ...

    @overload  # all parameters may be ones that the context fills
    def __call__(self) -> XComArg: ...  # type: ignore[overload-cannot-match]

    def __call__(self, *args: Any, **kwargs: Any) -> XComArg:
        """Make a task; a second one of the same name is called `name__1`."""
        group, task_id = self._group_and_id()
        options = {**self._options(), "task_group": group}
        if twice := kwargs.keys() & self.fixed.keys():
            self._blueprint(group).check(twice, self._where(group.dag))
        kwargs = {**self.fixed, **kwargs}
        check_call(self.function, args, kwargs, lambda: self._where(group.dag))
        task = self.operator(
            task_id=task_id,
            python_callable=self.function,
            op_args=args,
            op_kwargs=kwargs,
            **options,
        )
        return self._marked(task)

    def partial(self, **kwargs: Any) -> "TaskFactory[..., R]":
        """Fix some arguments of the function; `expand` then gives the others."""
        where = f"{self._where(current_dag())}: partial()"
        self._blueprint(None).check(kwargs, where)
        return self._changed(fixed={**self.fixed, **kwargs})

    def expand(self, **kwargs: Any) -> XComArg:
        """Make a task with one instance for each combination of items of these arguments."""
        group, task_id = self._group_and_id()
        blueprint = self._blueprint(group)
        expansion = expand(blueprint, kwargs, self._where(group.dag), group)
        return self._marked(mapped_task(task_id, group, blueprint, expansion))

    def expand_kwargs(self, kwargs: Any) -> XComArg:
        """Make a task with one instance for each dictionary of arguments in a list."""
        group, task_id = self._group_and_id()
        blueprint = self._blueprint(group)
        expansion = expand_kwargs(blueprint, kwargs, self._where(group.dag), group)
        return self._marked(mapped_task(task_id, group, blueprint, expansion))

    def override(self, **options: "Unpack[AnyTaskOptions]") -> "TaskFactory[P, R]":
        """Return the same decorated function with other options."""
        return self._changed(options={**self.options, **options})

    def _changed(self, **fields: Any) -> "TaskFactory[Any, R]":
        """Return a copy with other fields: of the same function, which is not looked at again."""
        changed = object.__new__(type(self))
        vars(changed).update(vars(self), **fields)
        return changed

    def _name(self) -> str:
        if "task_id" in self.options:
            return str(self.options["task_id"])
        return name_of(self.function, "task", "task_id")

    def _where(self, dag: DAG | None) -> str:
        return place(dag, self._name())

    def _group_and_id(self) -> tuple[TaskGroup, str]:
        """Return the group of a task to make, and what it is called there."""
        name = self._name()
        group = group_for(self.options)
        if group is None:
            raise DagError(f"Task {name!r} is called outside of a DAG; use `with DAG(...)`.")
        return group, group.free_id(name)

    def _blueprint(self, group: TaskGroup | None) -> FunctionBlueprint:
        given = defaults(self.operator, group)
        return FunctionBlueprint(self.operator, given, self._options(), self.function, self.fixed)

    def _marked(self, task: BaseOperator) -> XComArg:
        task.run_conditions = self.conditions
        if self.mark:
            self.mark(task)
        return XComArg(task)

    def _options(self) -> dict[str, Any]:
        if mistaken := self.options.keys() & _OF_CALLS:
            raise DagError(
                f"{self._where(current_dag())}: a decorator does not take {min(mistaken)}; the "
                f"call of the function gives its arguments, as in {call_of(self.function)}(rows=…)."
            )
        options = {**self._told, **self.options}
        options.pop("task_id", None)
        return options


@dataclass(frozen=True)
class OperatorDecorator:
    """A decorator, usable with and without arguments, that makes tasks of one operator."""

    operator: OperatorClass

    def __call__(self, python_callable: Any = None, /, **options: Any) -> Any:
        """Decorate a function, or return the decorator that has these options."""
        if python_callable is None:
            return lambda function: TaskFactory(function, self.operator, options)
        return TaskFactory(python_callable, self.operator, options)


class TaskDecorator(OperatorDecorator):
    """`@task`, and the decorators for other kinds of task that are its attributes."""

    bash = OperatorDecorator(DecoratedBashOperator)
    branch = OperatorDecorator(BranchPythonOperator)
    branch_external_python = OperatorDecorator(BranchExternalPythonOperator)
    branch_virtualenv = OperatorDecorator(BranchPythonVirtualenvOperator)
    external_python = OperatorDecorator(ExternalPythonOperator)
    pyspark = OperatorDecorator(PysparkOperator)
    python = OperatorDecorator(PythonOperator)
    short_circuit = OperatorDecorator(ShortCircuitOperator)
    sql = OperatorDecorator(DecoratedSparkSQLOperator)
    virtualenv = OperatorDecorator(PythonVirtualenvOperator)

    def run_if(self, condition: Condition, skip_message: str | None = None) -> Any:
        """Skip the tasks of a decorated function unless the condition holds."""
        return _conditional("run_if", check(condition, skip_message, runs_if=True))

    def skip_if(self, condition: Condition, skip_message: str | None = None) -> Any:
        """Skip the tasks of a decorated function if the condition holds."""
        return _conditional("skip_if", check(condition, skip_message, runs_if=False))


task = cast("TaskDecorators", TaskDecorator(PythonOperator))


@overload
def setup(function: TaskFactory[P, R]) -> TaskFactory[P, R]: ...


@overload
def setup(function: "TakesSpark[P, R]") -> TaskFactory[P, R]: ...


@overload
def setup(function: Callable[P, R]) -> TaskFactory[P, R]: ...


def setup(function: Any) -> Any:
    """Turn a function, decorated or not, into a maker of setup tasks."""
    return replace(_factory(function), mark=BaseOperator.as_setup)


@overload
def teardown(function: TaskFactory[P, R]) -> TaskFactory[P, R]: ...


@overload
def teardown(function: "TakesSpark[P, R]") -> TaskFactory[P, R]: ...


@overload
def teardown(function: Callable[P, R]) -> TaskFactory[P, R]: ...


@overload
def teardown(*, on_failure_fail_dagrun: bool) -> "Decorator": ...


def teardown(function: Any = None, *, on_failure_fail_dagrun: bool = False) -> Any:
    """Turn a function, decorated or not, into a maker of teardown tasks.

    With `on_failure_fail_dagrun` the run fails if the task does.
    """

    def mark(task: BaseOperator) -> None:
        task.as_teardown(on_failure_fail_dagrun=on_failure_fail_dagrun)

    def decorate(function: Any) -> Any:
        return replace(_factory(function), mark=mark)

    return decorate if function is None else decorate(function)


def _conditional(name: str, condition: Check) -> Callable[[Any], TaskFactory[..., Any]]:
    def decorate(factory: Any) -> TaskFactory[..., Any]:
        if not isinstance(factory, TaskFactory):
            raise DagError(
                f"@task.{name} decorates what @task has decorated, not {shown(factory)}; write it "
                "above @task."
            )
        return replace(factory, conditions=(*factory.conditions, condition))

    return decorate


def _factory(function: Any) -> TaskFactory[..., Any]:
    if isinstance(function, TaskFactory):
        return function
    if isinstance(function, GroupFactory):
        raise DagError(
            f"The task group {function.group_id!r} can be no setup or teardown; decorate its tasks."
        )
    return TaskFactory(function, PythonOperator)


def _told_by(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the options that a function itself tells, by its docstring and its annotations."""
    told: dict[str, Any] = {}
    if doc := doc_of(function):
        told["doc_md"] = doc
    if _returns_dictionary(function):
        told["multiple_outputs"] = True
    return told


def _returns_dictionary(function: Callable[..., Any]) -> bool:
    annotation: Any = getattr(function, "__annotations__", {}).get("return")
    if annotation is None:
        return False
    if isinstance(annotation, str):
        return annotation.split("[")[0] in ("dict", "Dict", "Mapping")
    return annotation in (dict, Mapping) or get_origin(annotation) in (dict, Mapping)
