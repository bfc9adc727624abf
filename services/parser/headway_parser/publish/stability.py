"""Whether what a file defines may be believed: DAGs that differ from one parse to the next."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import chain
from typing import Final, TypeAlias

import msgpack

from headway.db.parsing.dag_registration import InForce, Past
from headway.db.parsing.versions import NewVersion
from headway.domain.dag.spec import DagSpec

MOST_PER_HOUR: Final = 10
MOST_PER_MONTH: Final = 20
"""Versions that one state of the code may make within an hour, and within 30 days, unless the DAG
is dynamic, or its file reads connections or variables.  The second is for what changes slowly and
for ever, as with the date."""

_LONGEST: Final = 120

Mask: TypeAlias = Callable[[str], str]
"""What returns a text without the secrets that were read while the file was parsed."""


class StabilityVerdict(Enum):
    """What becomes of a DAG as it was read."""

    SAME = auto()
    TAKE = auto()
    PARSE_AGAIN = auto()
    FLAPS = auto()
    DRIFTS = auto()
    DRIFTS_SLOWLY = auto()


HELD: Final = frozenset(
    {StabilityVerdict.FLAPS, StabilityVerdict.DRIFTS, StabilityVerdict.DRIFTS_SLOWLY}
)
"""Of what is not taken over, and its author is warned.  What is in force is of the same code."""

_HOW_OFTEN: Final = {
    StabilityVerdict.DRIFTS: f"{MOST_PER_HOUR} times within an hour",
    StabilityVerdict.DRIFTS_SLOWLY: f"{MOST_PER_MONTH} times within 30 days",
}


@dataclass(frozen=True, slots=True)
class StabilityCheck:
    """What a parse is the check of: the same DAG as the parse right before has read it.

    That is None when it read no such DAG.
    """

    first: NewVersion | None


def judge(
    new: NewVersion, current: InForce | None, check: StabilityCheck | None, past: Past
) -> StabilityVerdict:
    """Decide on a DAG, given what is in force of it, and what this very code has made before."""
    if current is None:
        return StabilityVerdict.TAKE
    edited = current.manifest_hash != new.manifest_hash
    if edited and (past.had or not past.versions):  # code that was before, as it was, or new code
        return StabilityVerdict.TAKE
    if check is not None and _differs(check, new):
        return StabilityVerdict.FLAPS
    if current.fingerprint == new.fingerprint:
        return StabilityVerdict.SAME
    if check is None:
        return StabilityVerdict.PARSE_AGAIN
    return _drift(new, past) or StabilityVerdict.TAKE


def _differs(check: StabilityCheck, new: NewVersion) -> bool:
    return check.first is None or check.first.fingerprint != new.fingerprint


def _drift(new: NewVersion, past: Past) -> StabilityVerdict | None:
    """Return how this code has made as many versions as it may, if it has."""
    if past.had or _follows_something(new.spec):
        return None
    if past.in_hour >= MOST_PER_HOUR:
        return StabilityVerdict.DRIFTS
    return StabilityVerdict.DRIFTS_SLOWLY if past.in_month >= MOST_PER_MONTH else None


def _follows_something(spec: DagSpec) -> bool:
    """Tell whether a DAG is meant to change without its code, as variables of its file do."""
    return spec.dynamic or spec.reparse_on_run or bool(spec.parse_secrets)


def warning_of(
    verdict: StabilityVerdict, new: NewVersion, first: NewVersion | None, mask: Mask
) -> str:
    """Return what to tell the author of a DAG that is not taken over, without secrets."""
    if verdict in _HOW_OFTEN:
        return (
            f"DAG {new.spec.dag_id} has changed {_HOW_OFTEN[verdict]} although its code has not. "
            "What this code has made before stays in force. Make it the same at each parse, or say "
            "dynamic=True if it is meant to follow something else."
        )
    how = "it was not there, then it was"
    if first is not None:
        how = first_difference(first.serialized, new.serialized, mask)
    return (
        f"DAG {new.spec.dag_id} differs each time that its file is read: {how}. What this code "
        "has made before stays in force. Such things as the time, random numbers, addresses of "
        "objects and the order of objects in a set do not belong in a DAG's definition."
    )


def first_difference(one: bytes, other: bytes, mask: Mask) -> str:
    """Return where two serialized DAGs differ first, and how, without secrets."""
    found = next(_differences("", _content(one), _content(other)), None)
    if found is None:
        return "its code"
    where, before, after = found
    return f"{_cut(mask(where))} was {_shown(before, mask)}, then {_shown(after, mask)}"


def _content(data: bytes) -> object:
    return msgpack.unpackb(data)["dag"]


def _differences(where: str, one: object, other: object) -> Iterator[tuple[str, object, object]]:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in sorted(one.keys() | other.keys()):
            yield from _differences(f"{where}.{key}", one.get(key), other.get(key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        yield from chain.from_iterable(
            _differences(f"{where}[{index}]", *pair)
            for index, pair in enumerate(zip(one, other, strict=True))
        )
    elif one != other:
        yield where.lstrip("."), one, other


def _shown(value: object, mask: Mask) -> str:
    """Return a value as it is told: masked before it is cut, as nobody finds half a secret."""
    return _cut(mask(repr(_masked(value, mask))))


def _masked(value: object, mask: Mask) -> object:
    """Return a value whose texts are masked one by one: `repr` may write a secret otherwise."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {_masked(key, mask): _masked(part, mask) for key, part in value.items()}
    return [_masked(part, mask) for part in value] if isinstance(value, list) else value


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
