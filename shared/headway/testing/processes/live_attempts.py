"""Which attempts have processes, as the machine sees it: asked of no service and no database."""

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final, TypeAlias

from headway.runtime.daemon.clock import SystemClock

AttemptName: TypeAlias = tuple[int, int]
"""A task instance, and the number of its attempt."""

_EVERY: Final = 0.05
_CLOCK: Final = SystemClock()


@dataclass(slots=True)
class LiveAttempts:
    """All attempts that were seen alive, and those that lived beside another of their task."""

    scratch: Path
    seen: set[AttemptName] = field(default_factory=set)
    doubled: set[AttemptName] = field(default_factory=set)

    @classmethod
    @contextmanager
    def recorded(cls, scratch: Path) -> Iterator["LiveAttempts"]:
        """Record, for as long as the context lasts, which attempts work below `scratch`."""
        record, stop = cls(scratch), Event()

        def look_on() -> None:
            while not _CLOCK.wait(stop, _EVERY):
                record.look()

        with ThreadPoolExecutor(1, "live attempts") as thread:
            looking = thread.submit(look_on)
            try:
                yield record
            finally:
                stop.set()
            looking.result()  # a record that broke off would prove nothing

    def look(self) -> None:
        """Add what is alive now."""
        by_task: dict[int, set[AttemptName]] = defaultdict(set)
        for name in live_attempts(self.scratch):
            by_task[name[0]].add(name)
            self.seen.add(name)
        for names in by_task.values():
            # One look takes a while: only what is still there has lived beside the other.
            if len(names) > 1 and len(names & live_attempts(self.scratch)) > 1:
                self.doubled |= names


def live_attempts(scratch: Path, proc: Path = Path("/proc")) -> set[AttemptName]:
    """Return the attempts that have a process, which works in a folder named after the attempt.

    Below `scratch` each worker has a folder, and in that one for each attempt.
    """
    found: set[AttemptName] = set()
    # A glob of */cwd would end with an error when one of the processes ends meanwhile.
    for process in proc.iterdir():
        try:
            folder = (process / "cwd").readlink()
        except OSError:  # it has ended, is not ours to look into, or is no process
            continue
        if folder.is_relative_to(scratch) and len(folder.relative_to(scratch).parts) > 1:
            name = folder.relative_to(scratch).parts[1].removesuffix(" (deleted)")
            task_instance, _, attempt = name.partition("-")
            if task_instance.isdecimal():  # neither "callbacks" nor a folder that no attempt has
                found.add((int(task_instance), int(attempt)))
    return found
