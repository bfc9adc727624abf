"""A module of Airflow that is given by Headway: it has no file, and its names come when asked."""

import sys
from importlib import import_module
from types import FrameType, ModuleType
from typing import Any, Final

from headway.airflow_layer.gaps import error_of
from headway.airflow_layer.names.table import names_of, provider_names_of

_PROVIDERS: Final = "airflow.providers."


class LayerModule(ModuleType):
    """`airflow`, or a module of it."""

    def __getattr__(self, name: str) -> Any:
        """Return the counterpart of a name, or the module of that name.

        An ImportError says what to do where there is none. Python's own questions, which have
        two underscores, get the answer that it expects.
        """
        given = self._for_provider(name, sys._getframe(1))  # noqa: SLF001
        if given is not None:
            return given
        target = names_of(self.__name__).get(name)
        if target is None:
            return self._inner(name)
        found = self._counterpart(name, target)
        if name not in provider_names_of(self.__name__):  # where it is something else
            setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        """Return the names that it has, and those that it can have."""
        return sorted({*super().__dir__(), *names_of(self.__name__)})

    def _counterpart(self, name: str, target: str) -> Any:
        home, _, attribute = target.partition(":")
        try:
            return getattr(import_module(home), attribute)
        except AttributeError:
            missing = (home, attribute) if home.startswith(_PROVIDERS) else (self.__name__, name)
            raise error_of(*missing) from None

    def _for_provider(self, name: str, asking: FrameType) -> Any:
        """Return what a provider package is given; None for whoever else asks."""
        target = provider_names_of(self.__name__).get(name)
        if target is None or not _is_of_provider(asking):
            return None
        return self._counterpart(name, target)

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


def _is_of_provider(frame: FrameType | None) -> bool:
    """Return whether that is code of a provider package, but for what Python imports it by."""
    while frame is not None and _module(frame).startswith("importlib."):
        frame = frame.f_back
    return frame is not None and _module(frame).startswith(_PROVIDERS)


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__"))
