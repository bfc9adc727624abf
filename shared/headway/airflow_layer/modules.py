"""A module of Airflow that is given by Headway: it has no file, and its names come when asked."""

from importlib import import_module
from types import ModuleType
from typing import Any

from headway.airflow_layer.gaps import error_of
from headway.airflow_layer.names.table import names_of


class LayerModule(ModuleType):
    """`airflow`, or a module of it."""

    def __getattr__(self, name: str) -> Any:
        """Return the counterpart of a name, or the module of that name.

        An ImportError says what to do where there is none. Python's own questions, which have
        two underscores, get the answer that it expects.
        """
        target = names_of(self.__name__).get(name)
        if target is None:
            return self._inner(name)
        home, _, attribute = target.partition(":")
        try:
            found = getattr(import_module(home), attribute)
        except AttributeError:
            raise error_of(self.__name__, name) from None
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        """Return the names that it has, and those that it can have."""
        return sorted({*super().__dir__(), *names_of(self.__name__)})

    def _inner(self, name: str) -> ModuleType:
        if name.startswith("_"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        whole = f"{self.__name__}.{name}"
        try:
            return import_module(whole)
        except ModuleNotFoundError as error:
            if error.name != whole:
                raise
            raise error_of(self.__name__, name) from None
