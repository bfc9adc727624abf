"""Mapped tasks: how many instances one has, and which items each instance is for."""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Final

from headway.domain.dag.spec import Combined, MapInput
from headway.domain.errors import DagError

MAX_MAP_LENGTH: Final = 100_000
"""Instances of one mapped task in one run, unless the settings say otherwise."""

DEEPEST_COMBINED: Final = 8
"""Levels of zip(), concat() and map() in each other."""


def map_length(
    inputs: Sequence[MapInput],
    lengths: Mapping[tuple[str, str], int | None],
    limit: int = MAX_MAP_LENGTH,
) -> int:
    """Return how many instances a task has that is mapped over these inputs; 0 is possible.

    `lengths` are those of the XComs, by task id and key.  DagError when one is missing,
    or when there are more than `limit` instances.
    """
    found = [input_length(each, lengths) for each in inputs]
    instances = prod(found)
    if instances > limit:
        factors = " x ".join(f"{length:,}" for length in found)
        counted = f"{factors} = {instances:,}" if len(found) > 1 else f"{instances:,}"
        raise DagError(
            f"It is expanded over {', '.join(map(described, inputs))}, which makes {counted} "
            f"instances; max_map_length allows {limit:,}. Let each instance do more."
        )
    return instances


def item_indexes(lengths: Sequence[int], map_index: int) -> list[int]:
    """Return which item of each input the instance `map_index` is for.

    The inputs are combined each with each; the last one varies fastest.
    """
    if not 0 <= map_index < prod(lengths):
        raise DagError(
            f"There is no instance {map_index} any more: it is expanded over "
            f"{' x '.join(map(str, lengths))} items by now. Clear the mapped task as a whole."
        )
    found = []
    for length in reversed(lengths):
        map_index, index = divmod(map_index, length)
        found.append(index)
    return found[::-1]


def combined_length(combined: Combined, lengths: Sequence[int]) -> int:
    """Return how many items there are when so many of each part are combined."""
    match combined:
        case Combined.ZIP:
            return min(lengths)
        case Combined.ZIP_LONGEST:
            return max(lengths)
        case _:
            return sum(lengths)


def described(source: MapInput) -> str:
    """Return how messages name what a task is expanded over."""
    if source.combined is not None:
        xcoms = " and ".join(f"{key!r} of task {task_id!r}" for task_id, key in source.sources())
        return f"{source.argument} (XComs combined: {xcoms})"
    if source.task_id is None:
        return f"{source.argument} ({source.length or 0:,} items)"
    return f"{source.argument} (the XCom {source.key!r} of task {source.task_id!r})"


def input_length(source: MapInput, lengths: Mapping[tuple[str, str], int | None]) -> int:
    """Return how many items an input has; DagError when the length of an XCom is missing."""
    if source.combined is not None:
        return combined_length(
            source.combined, [input_length(part, lengths) for part in source.parts]
        )
    if source.task_id is None:
        return source.length or 0
    length = lengths.get((source.task_id, source.key))
    if length is None:
        raise DagError(
            f"Task {source.task_id!r} has left no list or dictionary under {source.key!r} to "
            f"expand {source.argument} over; return one from there."
        )
    return length
