"""What type checkers know of the decorators: `@task`, `@task.bash`, …  Nothing imports this to run.

A decorated function takes the arguments of the function, each as a value or as the output of
another task. A parameter that Headway fills is one of the function's as well: type checkers know
only a first parameter `spark` for what it is, and that a call without any argument may be right.
Give other such parameters a default.
"""

from collections.abc import Callable, Collection
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, Unpack, overload

from headway.sdk.authoring.task_options import TaskOptions
from headway.sdk.operators.bash import BashOptions
from headway.sdk.operators.conditions import Condition
from headway.sdk.operators.decorators import TaskFactory
from headway.sdk.operators.spark_sql import SparkSQLOptions

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Returns = TypeVar("Returns")
Maker = TypeVar("Maker", bound=TaskFactory[..., Any])


class PythonTaskOptions(TaskOptions, total=False):
    """What `@task`, `@task.python` and `@task.branch` take."""

    task_id: str


class PysparkTaskOptions(PythonTaskOptions, total=False):
    """What `@task.pyspark` takes."""

    conn_id: str
    mode: Literal["driver"] | None


class ShortCircuitTaskOptions(PythonTaskOptions, total=False):
    """What `@task.short_circuit` takes."""

    ignore_downstream_trigger_rules: bool


class BashTaskOptions(BashOptions, total=False):
    """What `@task.bash` takes."""

    task_id: str


class SparkSQLTaskOptions(SparkSQLOptions, total=False):
    """What `@task.sql` takes."""

    task_id: str


class AnyTaskOptions(
    PysparkTaskOptions, ShortCircuitTaskOptions, BashTaskOptions, SparkSQLTaskOptions, total=False
):
    """What `override` takes, of whichever kind the task is."""


class TakesSpark(Protocol[P, R_co]):
    """A function whose first parameter is `spark`, which no call gives."""

    def __call__(self, spark: Any, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Do the work of a task."""


class Decorator(Protocol):
    """A decorator of functions that return anything."""

    @overload
    def __call__(self, function: TakesSpark[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFactory[P, R]: ...


class DecoratorOf(Protocol[Returns]):
    """A decorator of functions that return something certain."""

    def __call__(self, function: Callable[P, Returns], /) -> TaskFactory[P, Returns]:
        """Make the maker of tasks."""


Chosen = str | Collection[str] | None


class PythonDecorator(Protocol):
    """`@task.python`."""

    @overload
    def __call__(self, function: TakesSpark[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, /, **options: Unpack[PythonTaskOptions]) -> Decorator: ...


class PysparkDecorator(Protocol):
    """`@task.pyspark`."""

    @overload
    def __call__(self, function: TakesSpark[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, /, **options: Unpack[PysparkTaskOptions]) -> Decorator: ...


class ShortCircuitDecorator(Protocol):
    """`@task.short_circuit`."""

    @overload
    def __call__(self, function: TakesSpark[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, /, **options: Unpack[ShortCircuitTaskOptions]) -> Decorator: ...


class BranchDecorator(Protocol):
    """`@task.branch`: the function returns the ids of the tasks to go on with."""

    @overload
    def __call__(self, function: Callable[P, Chosen], /) -> TaskFactory[P, Chosen]: ...
    @overload
    def __call__(self, /, **options: Unpack[PythonTaskOptions]) -> DecoratorOf[Chosen]: ...


class BashDecorator(Protocol):
    """`@task.bash`: the function returns a command."""

    @overload
    def __call__(self, function: Callable[P, str], /) -> TaskFactory[P, str]: ...
    @overload
    def __call__(self, /, **options: Unpack[BashTaskOptions]) -> DecoratorOf[str]: ...


class SparkSQLDecorator(Protocol):
    """`@task.sql`: the function returns statements."""

    @overload
    def __call__(self, function: Callable[P, str], /) -> TaskFactory[P, str]: ...
    @overload
    def __call__(self, /, **options: Unpack[SparkSQLTaskOptions]) -> DecoratorOf[str]: ...


class TaskDecorators(PythonDecorator, Protocol):
    """`@task`, and the decorators that are its attributes."""

    @property
    def bash(self) -> BashDecorator:
        """The function returns a command for bash."""

    @property
    def branch(self) -> BranchDecorator:
        """The function chooses what comes next."""

    @property
    def pyspark(self) -> PysparkDecorator:
        """The function gets a Spark session."""

    @property
    def python(self) -> PythonDecorator:
        """The same as `@task` alone."""

    @property
    def short_circuit(self) -> ShortCircuitDecorator:
        """The function decides whether anything comes next."""

    def run_if(
        self, condition: Condition, skip_message: str | None = None
    ) -> Callable[[Maker], Maker]:
        """Skip the task unless the condition holds."""

    def skip_if(
        self, condition: Condition, skip_message: str | None = None
    ) -> Callable[[Maker], Maker]:
        """Skip the task if the condition holds."""

    @property
    def sql(self) -> SparkSQLDecorator:
        """The function returns statements for Spark."""
