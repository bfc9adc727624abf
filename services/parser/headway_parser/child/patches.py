"""Which functions and classes of Python and of Headway an import has replaced.

Only functions, classes and the methods of classes are looked at: other values, such as caches, may
change whenever a module is used.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FunctionType, ModuleType
from typing import Final

_LOOKED_AT: Final = frozenset({*sys.stdlib_module_names, "headway", "headway_parser"})
_METHODS: Final = (FunctionType, staticmethod, classmethod, property)

HARMLESS: Final = frozenset({"_frozen_importlib_external.PathFinder.find_distributions"})
"""What `importlib_metadata` takes away, as it finds packages itself; many packages import it."""


@dataclass(slots=True)
class KnownFunctions:
    """What modules of Python and of Headway held when they were noted: it must stay the same."""

    _held: dict[str, tuple[ModuleType | type, Mapping[str, object]]] = field(default_factory=dict)
    """By the name of a module or a class: that, and what it held by name."""

    def note(self) -> None:
        """Take note of all modules that are loaded and were not noted before."""
        for name, module in list(sys.modules.items()):
            if name in self._held or name.partition(".")[0] not in _LOOKED_AT:
                continue
            if isinstance(module, ModuleType):
                self._note(name, module)

    def replaced(self) -> Iterator[str]:
        """Yield the names of what is another function or class by now, or is gone."""
        for name, (owner, held) in self._held.items():
            now = vars(owner)
            for key, value in held.items():
                if now.get(key) is not value and f"{name}.{key}" not in HARMLESS:
                    yield f"{name}.{key}"

    def _note(self, name: str, module: ModuleType) -> None:
        held = {key: value for key, value in vars(module).items() if callable(value)}
        self._held[name] = module, held
        for key, value in held.items():
            if isinstance(value, type) and value.__module__ == name:
                methods = {key: it for key, it in vars(value).items() if isinstance(it, _METHODS)}
                self._held[f"{name}.{key}"] = value, methods
