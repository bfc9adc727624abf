"""@task, @setup and @teardown that take what Airflow's took."""

from collections.abc import Callable
from typing import Any

from headway import sdk
from headway.airflow_layer.gaps import error_of
from headway.airflow_layer.tolerance.absent_context import refuse_stores
from headway.airflow_layer.tolerance.arguments import of_task
from headway.sdk.authoring.task_options import TASK_OPTIONS

__all__ = ["setup", "task", "teardown"]


class TolerantDecorator:
    """A decorator of the SDK's, and those that are its attributes."""

    def __init__(self, decorator: Any) -> None:
        self._decorator = decorator

    def __call__(self, python_callable: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Decorate a function, or return the decorator that has these options."""
        tidy = of_task(options, TASK_OPTIONS)
        if python_callable is None:
            return lambda function: self(function, **tidy)
        refuse_stores(python_callable)
        return self._decorator(python_callable, **tidy)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._decorator, name, None)
        if found is None:
            raise error_of("airflow.sdk.task", name)
        return TolerantDecorator(found)


task = TolerantDecorator(sdk.task)
setup = sdk.setup
teardown = sdk.teardown
