"""The part of a graph of tasks that is near one of them."""

from collections.abc import Mapping, Sequence


def around(
    upstream: Mapping[str, Sequence[str]], task: str, depth: int
) -> dict[str, Sequence[str]]:
    """Return the tasks that are so many edges or fewer above or below one, in their order.

    KeyError if there is no such task.
    """
    upstream[task]
    below: dict[str, list[str]] = {each: [] for each in upstream}
    for each, its in upstream.items():
        for above in its:
            if above in below:
                below[above].append(each)
    near = _reached(upstream, task, depth) | _reached(below, task, depth)
    return {
        each: [it for it in its if it in near] for each, its in upstream.items() if each in near
    }


def _reached(links: Mapping[str, Sequence[str]], task: str, depth: int) -> set[str]:
    found = border = {task}
    for _ in range(depth):
        border = {it for each in border for it in links.get(each, ()) if it in links} - found
        found = found | border
    return found
