import json
import sys
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from headway_parser.child.patches import HARMLESS, KnownFunctions


class Base:
    """A class of a module of Python's."""

    LIMIT = 1

    def run(self) -> None: ...

    @property
    def name(self) -> str:
        return ""


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """One below a module of Python's."""
    made = ModuleType("json.made")
    given = {"function": lambda: None, "cache": {}, "Base": type("Base", (), dict(vars(Base)))}
    vars(made).update(given)
    made.Base.__module__ = made.__name__
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


@pytest.fixture
def known(module: Any) -> KnownFunctions:
    noted = KnownFunctions()
    noted.note()
    return noted


def test_what_was_replaced_or_taken_away_is_told(known: KnownFunctions, module: Any) -> None:
    assert list(known.replaced()) == []

    module.function = lambda: None
    module.Base.run = Base.run
    del module.Base.name
    assert list(known.replaced()) == [
        "json.made.function",
        "json.made.Base.name",
    ]


def test_another_method_is_told(known: KnownFunctions, module: Any) -> None:
    module.Base.run = lambda self: None

    assert list(known.replaced()) == ["json.made.Base.run"]


def test_other_values_and_what_is_new_may_change(known: KnownFunctions, module: Any) -> None:
    module.cache, module.more, module.Base.LIMIT = {"a": 1}, lambda: None, 2
    json_like = cast("ModuleType", SimpleNamespace())
    sys.modules["json.made"] = json_like

    assert list(known.replaced()) == []


def test_modules_of_packages_may_be_patched(monkeypatch: pytest.MonkeyPatch, module: Any) -> None:
    monkeypatch.setitem(sys.modules, "acme", module)
    monkeypatch.delitem(sys.modules, "json.made")
    known = KnownFunctions()
    known.note()

    module.function = lambda: None
    assert list(known.replaced()) == []


def test_modules_that_come_later_are_noted_then(
    monkeypatch: pytest.MonkeyPatch, known: KnownFunctions
) -> None:
    later = ModuleType("json.later")
    later.function = lambda: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "json.later", later)
    monkeypatch.setattr(json, "dumps", json.loads)

    known.note()
    later.function = lambda: None  # type: ignore[attr-defined]
    assert sorted(known.replaced()) == ["json.dumps", "json.later.function"]


def test_what_importlib_metadata_takes_away_is_harmless() -> None:
    (name,) = HARMLESS
    known = KnownFunctions()
    known.note()
    finder = sys.modules["_frozen_importlib_external"].PathFinder

    with pytest.MonkeyPatch.context() as patched:
        patched.delattr(finder, name.rpartition(".")[2])
        assert list(known.replaced()) == []
