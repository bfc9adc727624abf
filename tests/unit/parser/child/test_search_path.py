import copy
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

from headway_parser.child.search_path import seen, watch

NEW = "/new"


@pytest.fixture(autouse=True)
def watched() -> Iterator[list[str]]:
    before = sys.path
    sys.path = [*before]
    watch()
    yield before
    sys.__class__ = ModuleType
    sys.path = before


def replace() -> None:
    old = sys.path
    sys.path = [NEW, *old]
    sys.path = old


def replace_and_add() -> None:
    sys.path = [*sys.path]
    sys.path.append(NEW)


def extend_by_operator() -> None:
    sys.path += [NEW]


def set_slice() -> None:
    sys.path[:0] = [NEW]


def patch() -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "path", [NEW])


@pytest.mark.parametrize(
    "change",
    [
        lambda: sys.path.insert(0, NEW),
        lambda: sys.path.append(NEW),
        lambda: sys.path.extend([NEW]),
        set_slice,
        extend_by_operator,
        replace,
        replace_and_add,
        patch,
    ],
)
def test_what_is_added_in_any_way_is_noted(change: Callable[[], None]) -> None:
    assert NEW not in seen()

    change()
    if NEW in sys.path:
        sys.path.remove(NEW)

    assert NEW in seen()


def test_all_that_was_there_is_noted_and_the_path_is_the_same(watched: list[str]) -> None:
    assert seen() == list(dict.fromkeys(watched))
    assert sys.path == watched
    assert [*sys.path] == [*copy.copy(sys.path)] == watched
    assert isinstance(sys.path, list)


def test_what_is_no_text_is_left_to_python() -> None:
    sys.path.append(3)  # type: ignore[arg-type]
    sys.path.pop()

    assert all(isinstance(entry, str) for entry in seen())
