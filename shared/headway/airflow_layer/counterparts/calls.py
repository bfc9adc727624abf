"""What is about functions and classes in `airflow.utils`: loggers, imports, arguments."""

import logging
import pkgutil
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from getpass import getuser
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace
from typing import Any, TypeVar

from headway.sdk.values.signatures import takes

__all__ = [
    "LoggingMixin",
    "apply_defaults",
    "context_to_airflow_vars",
    "determine_kwargs",
    "get_parsing_context",
    "getuser",
    "import_string",
    "iter_namespace",
    "print_stuff",
    "qualname",
]

F = TypeVar("F", bound=Callable[..., Any])


class LoggingMixin:
    """What gives a class its own logger."""

    @property
    def log(self) -> logging.Logger:
        """The logger of the class."""
        return logging.getLogger(f"{type(self).__module__}.{type(self).__qualname__}")

    @property
    def logger(self) -> logging.Logger:
        """The logger of the class."""
        return self.log


def apply_defaults(function: F) -> F:
    """Return the function: operators get default_args without it."""
    return function


def get_parsing_context() -> SimpleNamespace:
    """Return what is read of a DAG file: all of it, each time."""
    return SimpleNamespace(dag_id=None, task_id=None)


def import_string(dotted_path: str) -> Any:
    """Return what a module has under a name."""
    module, _, name = dotted_path.rpartition(".")
    if not module:
        raise ImportError(f"{dotted_path!r} names no module.")
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        raise ImportError(f"Module {module!r} has no {name!r}.") from None


def iter_namespace(namespace: ModuleType) -> Iterator[str]:
    """Yield the names of the modules in a package."""
    for found in pkgutil.iter_modules(namespace.__path__, f"{namespace.__name__}."):
        yield found.name


def qualname(o: Any, use_qualname: bool = False) -> str:
    """Return the dotted name of a function or class, or that of the class of an object."""
    named = o if hasattr(o, "__name__") else type(o)
    return f"{named.__module__}.{named.__qualname__ if use_qualname else named.__name__}"


def determine_kwargs(
    func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return those of `kwargs` that a function takes besides `args`."""
    taken = takes(func)
    if taken is None or taken.others:
        return kwargs
    left = [name for name in taken.named if name not in taken.positional[: len(args)]]
    return {name: kwargs[name] for name in left if name in kwargs}


def context_to_airflow_vars(
    context: Mapping[str, Any], in_env_var_format: bool = False
) -> dict[str, str]:
    """Return the ids and dates of a run as text, by names for environment variables or not."""
    run, instance = context["dag_run"], context.get("ti")
    found = {
        "dag_id": run.dag_id,
        "run_id": run.run_id,
        "task_id": getattr(instance, "task_id", None),
        "logical_date": run.logical_date.isoformat(),
        "try_number": getattr(instance, "try_number", None),
    }
    begin = "AIRFLOW_CTX_{}" if in_env_var_format else "airflow.ctx.{}"
    names = {name: name.upper() if in_env_var_format else name for name in found}
    return {begin.format(names[name]): str(value) for name, value in found.items() if value}


def print_stuff() -> None:
    """Print a word: what two of Airflow's example DAGs do in a module of Airflow's own."""
    print("annotated!")  # noqa: T201 - for the task's log


def is_venv_installed() -> bool:
    """Return whether a virtual environment can be made here."""
    return shutil.which("uv") is not None or find_spec("ensurepip") is not None
