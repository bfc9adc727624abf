"""The logs of a task's attempts, each read where it is: in the pod of its worker."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any, Final

from headway.domain.errors import NotFoundError
from headway.domain.states import TERMINAL, TaskState
from headway.kubectl import pods
from headway.kubectl.release import Release, find
from headway.runtime.daemon.clock import Clock

PAUSE: Final = 2.0
"""Seconds between two looks for the next attempt."""


@dataclass(frozen=True, slots=True)
class WantedLog:
    """The task instance of which logs are wanted, and which attempt; None for the last one."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    attempt: int | None


def show(release: Release, wanted: WantedLog, options: Sequence[str]) -> int:
    """Print the log of one attempt on this terminal; return the exit status of that."""
    found = _attempts(_task(release, wanted))
    chosen = [attempt for attempt in found if wanted.attempt in {None, attempt["attempt"]}]
    if not chosen:
        raise NotFoundError(_none(wanted, found))
    return _print(release, wanted, chosen[-1], options)


def follow(release: Release, wanted: WantedLog, options: Sequence[str], clock: Clock) -> int:
    """Print the logs of attempts as they come, until the task or the wanted attempt has ended."""
    status, printed = 0, wanted.attempt - 1 if wanted.attempt is not None else None
    while status == 0:
        task = _task(release, wanted)
        found = _attempts(task)
        coming = found[-1:] if printed is None else _after(found, printed)
        if coming:
            release = find(release.kubectl, release.name)  # its worker's pod may be new
            status = _print(release, wanted, coming[0], ["--follow", *options])
            printed = int(coming[0]["attempt"])
        if wanted.attempt is not None and coming:
            break
        if not coming and TaskState(task["state"]) in TERMINAL:
            break
        if not coming:
            clock.wait(Event(), PAUSE)
    return status


def _after(found: Sequence[Mapping[str, Any]], attempt: int) -> list[Mapping[str, Any]]:
    return [row for row in found if row["attempt"] > attempt]


def _task(release: Release, wanted: WantedLog) -> Mapping[str, Any]:
    rows = release.ask("tasks", "list", wanted.dag_id, wanted.run_id)
    mine: Iterator[Mapping[str, Any]] = (
        row
        for row in rows
        if (row["task_id"], row["map_index"]) == (wanted.task_id, wanted.map_index)
    )
    found = next(mine, None)
    if found is None:
        names = ", ".join(sorted({row["task_id"] for row in rows}))
        raise NotFoundError(
            f"Run {wanted.run_id} of {wanted.dag_id} has no instance {wanted.map_index} of task "
            f"{wanted.task_id!r}; its tasks: {names}."
        )
    return found


def _attempts(task: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the attempts that have started."""
    return [attempt for attempt in task["attempts"] if attempt["started_at"] is not None]


def _print(
    release: Release, wanted: WantedLog, attempt: Mapping[str, Any], options: Sequence[str]
) -> int:
    pod = pods.with_logs(release.pods, attempt["worker"])
    named = [wanted.dag_id, wanted.run_id, wanted.task_id, "--map-index", str(wanted.map_index)]
    number = ["--attempt", str(attempt["attempt"])]
    return release.kubectl.headway(pod, "tasks", "logs", *named, *number, *options)


def _none(wanted: WantedLog, found: Sequence[Mapping[str, Any]]) -> str:
    numbers = ", ".join(str(attempt["attempt"]) for attempt in found)
    if not numbers:
        return f"No attempt of task {wanted.task_id!r} has started in run {wanted.run_id}."
    return f"Task {wanted.task_id!r} has no attempt {wanted.attempt} that has started: {numbers}."
