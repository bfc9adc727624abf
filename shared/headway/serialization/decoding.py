"""Decode msgpack that may come from user code, within hard bounds.

Python objects take up to 70 times the bytes they are decoded from, and a header
of five bytes may announce four thousand million elements.  So the form of the
data is checked before any object is built, and elements are counted while it is.
"""

from typing import Any, Final

import msgpack

from headway.domain.errors import SerializationError

DEEPEST: Final = 64
"""Levels of lists and maps beyond which data is refused."""

MOST_ELEMENTS: Final = 1_000_000
"""Items of lists and maps, taken together, beyond which data is refused."""

_TEXT: Final = frozenset({str})


def decode(data: bytes, deepest: int = DEEPEST, most_elements: int = MOST_ELEMENTS) -> Any:
    """Return what `data` holds: None, bool, int, float, str, bytes, list and dict only.

    The keys of a map are strings, each there once.  Anything else, and anything
    larger or deeper than allowed, is a SerializationError.
    """
    elements = _Elements(most_elements)
    try:
        _check_form(data)
        value = msgpack.unpackb(
            data,
            object_pairs_hook=elements.of_map,
            list_hook=elements.of_list,
            ext_hook=_refuse_extension,
            max_array_len=most_elements,
            max_map_len=most_elements,
            max_ext_len=0,
        )
    except (ValueError, msgpack.UnpackException) as error:
        raise SerializationError(
            f"These bytes are no acceptable msgpack: {error or type(error).__name__}."
        ) from error
    _check_depth(value, deepest)
    return value


def _check_form(data: bytes) -> None:
    """Pass over the data without building anything.

    Past this point every announced element is really there, so what is allocated
    in advance is bounded by the size of the data, and nesting by msgpack's stack.
    """
    unpacker = msgpack.Unpacker(max_buffer_size=max(len(data), 1))
    unpacker.feed(data)
    unpacker.skip()


class _Elements:
    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def of_list(self, items: list[Any]) -> list[Any]:
        self._take(len(items))
        return items

    def of_map(self, pairs: list[tuple[Any, Any]]) -> dict[str, Any]:
        self._take(len(pairs))
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a map repeats a key")
        if not _TEXT.issuperset(map(type, found)):
            raise ValueError("a map has a key that is no string")
        return found

    def _take(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise ValueError(f"more than {self._most:,} elements")


def _check_depth(value: Any, deepest: int) -> None:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(deepest):
        level = [item for container in level for item in _containers_in(container)]
        if not level:
            return
    raise SerializationError(f"The data is nested more than {deepest} levels deep.")


def _containers_in(value: Any) -> list[Any]:
    items = value.values() if type(value) is dict else value
    return [item for item in items if type(item) is dict or type(item) is list]


def _refuse_extension(code: int, _data: bytes) -> object:
    raise ValueError(f"extension type {code} is not allowed")
