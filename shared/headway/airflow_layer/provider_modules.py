"""Modules of installed provider packages: names that they have no longer are given or told."""

import dis
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import FrameType, ModuleType
from typing import Any, Final

from headway.airflow_layer.gaps import error_of
from headway.airflow_layer.names.table import renamed_names_of

_FROM_IMPORT: Final = dis.opmap["IMPORT_FROM"]


class ProviderLoader(Loader):
    """Load a module as `inner` does, and have it answer for names that it does not have."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Return the module that `inner` makes."""
        made: ModuleType | None = self._inner.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, which knows `inner` as its loader."""
        module.__loader__ = self._inner
        if module.__spec__ is not None:
            module.__spec__.loader = self._inner
        self._inner.exec_module(module)
        vars(module).setdefault("__getattr__", _absent_of(module.__name__))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _absent_of(module: str) -> Callable[[str], Any]:
    def absent(name: str) -> Any:
        """Return the present class of a former name; else say what is missing, and where."""
        home, _, attribute = renamed_names_of(module).get(name, "").partition(":")
        if home:
            return getattr(import_module(home), attribute)
        if not name.startswith("_") and _imports(sys._getframe(1)):  # noqa: SLF001
            raise error_of(module, name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return absent


def _imports(frame: FrameType) -> bool:
    """Return whether that code is at `from … import …`: others ask what a module has."""
    return frame.f_code.co_code[frame.f_lasti] == _FROM_IMPORT
