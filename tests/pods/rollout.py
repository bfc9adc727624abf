"""Which pods of a Deployment are started and stopped next, as Kubernetes decides it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Replica:
    """A pod of the Deployment that was not told to stop."""

    name: str
    revision: str
    """Which template the pod was made from."""

    ready: bool


@dataclass(frozen=True, slots=True)
class Step:
    """How many pods of the newest revision are started, and which pods are stopped."""

    start: int
    stop: tuple[str, ...]


def next_step(
    pods: Sequence[Replica], revision: str, wanted: int, surge: int, unavailable: int
) -> Step:
    """Decide for a Deployment that wants so many pods of this revision; the oldest pod is first.

    At most `surge` pods more than wanted exist, and at most `unavailable` fewer are ready, but for
    those that are not ready by themselves.
    """
    new = [replica for replica in pods if replica.revision == revision]
    old = [replica for replica in pods if replica.revision != revision]
    missing = wanted - len(new)
    room = wanted + surge - len(pods) if old else missing
    if missing < 0:
        return Step(0, _first(new, -missing))
    most = len(pods) - (wanted - unavailable) - sum(not replica.ready for replica in new)
    broken = [replica.name for replica in old if not replica.ready][: max(most, 0)]
    spare = sum(replica.ready for replica in pods) - (wanted - unavailable)
    ready = [replica.name for replica in old if replica.ready][: max(spare, 0)]
    return Step(max(min(room, missing), 0), (*broken, *ready))


def _first(pods: Sequence[Replica], number: int) -> tuple[str, ...]:
    """Return those that go first: the ones that are not ready, and then the youngest."""
    youngest_first = list(reversed(pods))
    return tuple(
        replica.name for replica in sorted(youngest_first, key=lambda it: it.ready)[:number]
    )
