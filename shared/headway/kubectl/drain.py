"""Drain the worker in a pod."""

from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Any, Final

from headway.domain.errors import NotFoundError
from headway.kubectl import pods
from headway.kubectl.release import Release
from headway.runtime.daemon.clock import Clock

PAUSE: Final = 2.0
"""Seconds between two looks at what the worker still has."""


def drain(release: Release, name: str, reason: str | None) -> list[int]:
    """Tell the worker in the pod of that name to drain; return its id.

    They are several if the container has just been restarted.  NotFoundError if the pod has no
    worker that is registered.
    """
    pod = pods.worker(release.pods, name)
    mine = [worker["id"] for worker in _workers(release) if worker["hostname"] == pod.hostname]
    if not mine:
        raise NotFoundError(
            f"No worker is registered from {name}; `kubectl logs {name} -c worker` says why."
        )
    why = [] if reason is None else ["--reason", reason]
    for worker in mine:
        release.ask("worker", "drain", str(worker), *why, changes=True)
    return mine


def finish(
    release: Release, workers: Sequence[int], clock: Clock, told: Callable[[int], None]
) -> None:
    """Wait until these workers have nothing left; `told` is given the number when it changes."""
    said = None
    while True:
        rows = [worker for worker in _workers(release) if worker["id"] in workers]
        left = sum(row["running"] for row in rows)
        if left == 0:
            return
        if left != said:
            told(left)
            said = left
        clock.wait(Event(), PAUSE)


def _workers(release: Release) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = release.ask("worker", "list")
    return found
