"""Decode msgpack that may come from user code, within hard bounds.

Python objects take up to 70 times the bytes they are decoded from, and a header
of five bytes may announce four thousand million elements.  So the form of the
data is checked before any object is built, and elements are counted while it is.
"""

from dataclasses import dataclass
from typing import Any, Final

import msgpack

from headway.domain.arguments import nests_at_most
from headway.domain.errors import SerializationError

DEEPEST: Final = 64
"""Levels of lists and maps beyond which data is refused."""

MOST_ELEMENTS: Final = 1_000_000
"""Items of lists and maps, taken together, beyond which data is refused."""

_TEXT: Final = frozenset({str})


@dataclass(slots=True)
class DecodeBudget:
    """What may still be decoded: items of lists and maps, and lists and maps themselves."""

    elements: int = MOST_ELEMENTS
    containers: int = MOST_ELEMENTS

    def take(self, elements: int) -> None:
        """Take a list or a map of so many elements; ValueError when it is too much."""
        self.elements -= elements
        self.containers -= 1
        if self.elements < 0:
            raise ValueError("too many elements")
        if self.containers < 0:
            raise ValueError("too many lists and maps")

    def of_list(self, items: list[Any]) -> list[Any]:
        """Take a list."""
        self.take(len(items))
        return items

    def of_map(self, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
        """Take a map; ValueError unless its keys are strings, each there once."""
        self.take(len(pairs))
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a map repeats a key")
        if not _TEXT.issuperset(map(type, found)):
            raise ValueError("a map has a key that is no string")
        return found


def decode(data: bytes, deepest: int = DEEPEST, budget: DecodeBudget | None = None) -> Any:
    """Return what `data` holds: None, bool, int, float, str, bytes, list and dict only.

    The keys of a map are strings, each there once.  Anything else, and anything larger than
    the budget or deeper than allowed, is a SerializationError.
    """
    budget = budget or DecodeBudget()
    try:
        _check_form(data)
        value = msgpack.unpackb(
            data,
            object_pairs_hook=budget.of_map,
            list_hook=budget.of_list,
            ext_hook=_refuse_extension,
            max_array_len=max(budget.elements, 0),
            max_map_len=max(budget.elements, 0),
            max_ext_len=0,
        )
    except (ValueError, msgpack.UnpackException) as error:
        raise SerializationError(
            f"These bytes are no acceptable msgpack: {error or type(error).__name__}."
        ) from error
    if not nests_at_most(value, deepest):
        raise SerializationError(f"The data is nested more than {deepest} levels deep.")
    return value


def _check_form(data: bytes) -> None:
    """Pass over the data without building anything.

    Past this point every announced element is really there, so what is allocated
    in advance is bounded by the size of the data, and nesting by msgpack's stack.
    """
    unpacker = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    unpacker.skip()


def _refuse_extension(code: int, _data: bytes) -> object:
    raise ValueError(f"extension type {code} is not allowed")
