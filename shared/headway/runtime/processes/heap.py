"""The memory that a process shares with those that it forks.

A page is shared until one of them writes to it.  Python puts small objects where others have been
freed, between those that are there: after a fork each process would copy pages for that.
"""

from typing import Final

_SIZES: Final = range(16, 513, 16)
"""The sizes of blocks in which Python keeps small objects."""

_POOL: Final = 16_384
"""Bytes of a pool, which holds blocks of one size (CPython since 3.10)."""

_HEADER: Final = 48
"""Bytes at the beginning of a pool that hold no block."""

_MOST: Final = 20_000
"""Blocks of a size that are filled, at most."""

_fillers: Final[list[object]] = []


def fill() -> None:
    """Fill the places of freed objects, so that forks make theirs on pages of their own."""
    for size in _SIZES:
        _fillers.extend(_holes(size))


def _holes(size: int) -> list[object]:
    """Return objects in all places that are free in pools of that size which hold others."""
    found: list[object] = []
    pool: list[object] = []
    for number in range(_MOST):
        block = _block(size, number)
        if pool and id(block) // _POOL != id(pool[-1]) // _POOL:
            found += pool
            pool = []
        pool.append(block)
        if len(pool) == (_POOL - _HEADER) // size:  # nothing else was in it: it is a new one
            break
    return found


def _block(size: int, number: int) -> object:
    """Return an object of that many bytes, which is no other's."""
    if size == object.__sizeof__(object()):
        return object()
    if size < b"".__sizeof__() + 1:
        return float(number)
    return bytes(size - b"".__sizeof__())
