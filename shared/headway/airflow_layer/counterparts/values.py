"""What is about values in `airflow.utils.helpers`: dictionaries without None, parts of a list."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

from headway.sdk.exceptions import AirflowException

_KEY: Final = re.compile(r"[\w.-]+")

T = TypeVar("T")


def prune_dict(val: Any, mode: str = "strict") -> Any:
    """Return a value without None; in mode "truthy" without all that is falsy."""

    def counts(item: object) -> bool:
        return item is not None if mode == "strict" else bool(item)

    if isinstance(val, Mapping):
        return {key: prune_dict(item, mode) for key, item in val.items() if counts(item)}
    if isinstance(val, list):
        return [prune_dict(item, mode) for item in val if counts(item)]
    return val


def exactly_one(*args: object) -> bool:
    """Return whether one of these is truthy, and no other."""
    return sum(map(bool, args)) == 1


def at_most_one(*args: object) -> bool:
    """Return whether at most one of these is given and truthy."""
    return sum(map(bool, args)) <= 1


def merge_dicts(dict1: dict[Any, Any], dict2: dict[Any, Any]) -> dict[Any, Any]:
    """Return both, one inside the other; what the second has wins."""
    merged = dict1.copy()
    for key, value in dict2.items():
        both = key in merged and isinstance(merged[key], dict) and isinstance(value, dict)
        merged[key] = merge_dicts(merged[key], value) if both else value
    return merged


def chunks(items: Sequence[T], chunk_size: int) -> Iterator[Sequence[T]]:
    """Yield parts of at most that size."""
    if chunk_size <= 0:
        raise ValueError("Chunk size must be a positive integer")
    for start in range(0, len(items), chunk_size):
        yield items[start : start + chunk_size]


def as_flattened_list(iterable: Iterable[Any]) -> list[Any]:
    """Return the items of iterables in iterables as one list; text is an item."""
    items: list[Any] = []
    for item in iterable:
        items.extend(as_flattened_list(item) if is_container(item) else [item])
    return items


def is_container(obj: object) -> bool:
    """Return whether a value holds others; text does not."""
    return hasattr(obj, "__iter__") and not isinstance(obj, str)


def convert_camel_to_snake(camel_str: str) -> str:
    """Return a name such as `someName` as `some_name`."""
    return re.sub(r"(?<!^)([A-Z])", r"_\1", camel_str).lower()


def validate_key(k: str, max_length: int = 250) -> None:
    """Raise AirflowException unless a text has letters, digits, dashes, dots, underscores only."""
    if not isinstance(k, str):
        raise TypeError(f"The key has to be a string and is {type(k).__name__}: {k!r}.")
    if len(k) > max_length:
        raise AirflowException(
            f"The key {k!r} has {len(k)} characters; it may have {max_length} at most."
        )
    if not _KEY.fullmatch(k):
        raise AirflowException(
            f"The key {k!r} has to be made of letters, digits, dashes, dots and underscores only."
        )


def to_boolean(astring: str | None) -> bool:
    """Return whether a text says yes."""
    return (astring or "").lower() in ("true", "t", "yes", "y", "on", "1")


def md5(data: bytes = b"", *, usedforsecurity: bool = False) -> "hashlib._Hash":
    """Return the MD5 of bytes, which names something and protects nothing."""
    return hashlib.md5(data, usedforsecurity=usedforsecurity)  # noqa: S324 - as asked for
