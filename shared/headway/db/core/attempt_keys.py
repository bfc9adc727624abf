"""The keys of attempts, and how statements take them."""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class AttemptKey:
    """A claimed attempt; the token proves that it is still the claimant's."""

    task_instance_id: int
    attempt: int
    token: UUID


def parameters(key: "AttemptKey") -> dict[str, object]:
    """Return the parameters of a statement on one attempt."""
    return {"task_id": key.task_instance_id, "attempt": key.attempt, "token": str(key.token)}


def columns(keys: Collection["AttemptKey"]) -> dict[str, object]:
    """Return the parameters of a statement that unnests many, one array for each part of a key."""
    return {
        "task_ids": [key.task_instance_id for key in keys],
        "attempts": [key.attempt for key in keys],
        "tokens": [str(key.token) for key in keys],
    }
