"""What type checkers know of the decorators: `@task`, `@task.bash`, …  Nothing imports this to run.

A decorated function takes the arguments of the function, each as a value or as the output of
another task. A parameter that Headway fills is one of the function's as well: type checkers know
only a first parameter `spark` for what it is, and that a call without any argument may be right.
Give other such parameters a default.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, ParamSpec, Protocol, TypeVar, Unpack, overload

from headway.sdk.authoring.python_operator import PythonOptions
from headway.sdk.operators.bash import BashOptions
from headway.sdk.operators.conditions import Condition
from headway.sdk.operators.decorators import TaskFactory
from headway.sdk.operators.spark_sql import SparkSQLOptions

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Returns = TypeVar("Returns")
Maker = TypeVar("Maker", bound=TaskFactory[..., Any])


class PythonTaskOptions(PythonOptions, total=False):
    """What `@task`, `@task.python` and `@task.branch` take."""

    task_id: str


class PysparkTaskOptions(PythonTaskOptions, total=False):
    """What `@task.pyspark` takes."""

    conn_id: str
    mode: Literal["driver"] | None


class ShortCircuitTaskOptions(PythonTaskOptions, total=False):
    """What `@task.short_circuit` takes."""

    ignore_downstream_trigger_rules: bool


class OtherPythonTaskOptions(PythonTaskOptions, total=False):
    """What `@task.virtualenv` and `@task.external_python` both take."""

    string_args: Iterable[str]
    env_vars: Mapping[str, str] | None
    inherit_env: bool
    expect_airflow: bool
    skip_on_exit_code: int | Collection[int] | None


class VirtualenvTaskOptions(OtherPythonTaskOptions, total=False):
    """What `@task.virtualenv` takes."""

    requirements: str | Iterable[str] | None
    python_version: str | None
    system_site_packages: bool
    pip_install_options: Iterable[str] | None
    index_urls: str | Iterable[str] | None
    venv_cache_path: str | PathLike[str] | None


class ExternalPythonTaskOptions(OtherPythonTaskOptions, total=False):
    """What `@task.external_python` takes."""

    python: str | PathLike[str]


class BashTaskOptions(BashOptions, total=False):
    """What `@task.bash` takes."""

    task_id: str


class SparkSQLTaskOptions(SparkSQLOptions, total=False):
    """What `@task.sql` takes."""

    task_id: str


class AnyTaskOptions(
    PysparkTaskOptions,
    ShortCircuitTaskOptions,
    VirtualenvTaskOptions,
    ExternalPythonTaskOptions,
    BashTaskOptions,
    SparkSQLTaskOptions,
    total=False,
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


class VirtualenvDecorator(Protocol):
    """`@task.virtualenv` and `@task.branch_virtualenv`."""

    @overload
    def __call__(self, function: Callable[P, R], /) -> TaskFactory[P, R]: ...
    @overload
    def __call__(self, /, **options: Unpack[VirtualenvTaskOptions]) -> Decorator: ...


class ExternalPythonDecorator(Protocol):
    """`@task.external_python` and `@task.branch_external_python`."""

    def __call__(self, /, **options: Unpack[ExternalPythonTaskOptions]) -> Decorator:
        """Return the decorator that has these options."""


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
    def branch_external_python(self) -> ExternalPythonDecorator:
        """The function chooses what comes next, in another Python."""

    @property
    def branch_virtualenv(self) -> VirtualenvDecorator:
        """The function chooses what comes next, in a virtual environment."""

    @property
    def external_python(self) -> ExternalPythonDecorator:
        """The function runs in another Python of the worker."""

    @property
    def virtualenv(self) -> VirtualenvDecorator:
        """The function runs in a virtual environment."""

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
