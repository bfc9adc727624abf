"""What has changed between two snapshots of a subject, and how to tell one snapshot by a digest."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from sys import getsizeof
from typing import Final, TypeAlias

Snapshot: TypeAlias = Mapping[str, str]
"""A subject at a time: JSON texts by name."""

DIGEST_BYTES: Final = 6
NOTHING: Final = "0"
"""The digest of a subject that is not there; no other digest has one character."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Entries that are new or have another value, and the names of those that are gone."""

    changed: Mapping[str, str]
    gone: tuple[str, ...]


def diff(before: Snapshot, after: Snapshot) -> Difference:
    """Return what makes `after` out of `before`: take away what is gone, and set what changed."""
    changed = {name: value for name, value in after.items() if before.get(name) != value}
    return Difference(changed, tuple(sorted(before.keys() - after.keys())))


def size(snapshot: Snapshot | None) -> int:
    """Return about how many bytes a snapshot takes, with the event that tells all of it."""
    return sum(
        getsizeof(name) + len(name) + getsizeof(value) + len(value)
        for name, value in (snapshot or {}).items()
    )


def digest(snapshot: Snapshot | None) -> str:
    """Return a short text that differs, as far as matters, for snapshots that differ."""
    if snapshot is None:
        return NOTHING
    hashed = blake2b(digest_size=DIGEST_BYTES)
    for name in sorted(snapshot):
        for part in (name, snapshot[name]):
            encoded = part.encode()
            hashed.update(b"%d:" % len(encoded) + encoded)
    return hashed.hexdigest()
