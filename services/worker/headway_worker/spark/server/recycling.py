"""When a server of the worker's own has served long enough.  Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

BESIDE_HEAP: Final = 2 * 2**30
"""Bytes that a server may have besides its heap: for classes, threads, buffers."""

_UNITS: Final = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class RecyclingDecision(StrEnum):
    """What is to become of a server."""

    STAY = "stay"
    REPLACE = "replace"
    """It goes on until there is another one for new sessions."""
    STOP = "stop"
    KILL = "kill"
    FORGET = "forget"
    """It is dead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecyclingLimits:
    """What a server may be used for: attempts, bytes of memory, seconds without any attempt.

    An `idle_timeout` of 0 never ends a server.  A server that has not answered for
    `answer_timeout` seconds is killed.
    """

    max_attempts: int
    memory_bytes: int
    idle_timeout: float
    answer_timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCondition:
    """How a server stands: attempts served so far and present ones, memory in bytes, seconds."""

    alive: bool
    is_replaced: bool
    served: int
    present: int
    memory_bytes: int
    unused: float
    silent: float


def memory_limit(given: int, driver_memory: str) -> int:
    """Return the bytes that a server may have: those given, or, for 0, some for its driver's."""
    return given or _bytes(driver_memory) + BESIDE_HEAP


def _bytes(size: str) -> int:
    """Return a size as Spark writes it; 0 for what is none, which Spark refuses by itself."""
    text = size.lower().strip().removesuffix("b")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "m")
    return int(number) * _UNITS[unit] if number.isdecimal() else 0


def decide_recycling(condition: ServerCondition, limits: RecyclingLimits) -> RecyclingDecision:
    """Return what becomes of a server that stands so."""
    if not condition.alive:
        return RecyclingDecision.FORGET
    if condition.silent >= limits.answer_timeout:
        return RecyclingDecision.KILL
    if condition.present == 0 and condition.is_replaced:
        return RecyclingDecision.STOP
    if condition.present == 0 and 0 < limits.idle_timeout <= condition.unused:
        return RecyclingDecision.STOP
    is_worn = (
        condition.served >= limits.max_attempts or condition.memory_bytes > limits.memory_bytes
    )
    return (
        RecyclingDecision.REPLACE
        if is_worn and not condition.is_replaced
        else RecyclingDecision.STAY
    )
