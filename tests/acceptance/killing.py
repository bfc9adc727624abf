"""Kill services and the client at random: whom, and how far things are then, is up to a seed."""

import os
import re
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event, Thread
from typing import Final

from headway.runtime.daemon.clock import SystemClock
from headway.testing.services.machine import Machine

BAG: Final = ("scheduler", "scheduler", "client", "worker")
"""What is killed, in an order that is drawn anew each time: all kinds within as many kills."""

EARLIEST: Final = -0.1
LATEST: Final = 0.8
"""Between what parts of the whole kills fall; below 0 is at once, while the client still asks."""

_POLL: Final = 0.1
_CLIENT: Final = re.compile(r"-m headway\.cli backfill (create|watch) ")
_NAME_LENGTH: Final = 15
_CLOCK: Final = SystemClock()


@dataclass(slots=True)
class Killer:
    """Kills so many processes of a machine by SIGKILL, as `progress` goes from 0 to 1."""

    machine: Machine
    random: Random
    kills: int
    progress: Callable[[], float]
    killed: Counter[str] = field(default_factory=Counter)

    @contextmanager
    def at_large(self) -> Iterator[None]:
        """Kill for as long as the context lasts."""
        stop = Event()
        thread = Thread(target=self._kill_until, args=(stop,), name="killer")
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def plan(self) -> list[tuple[float, str]]:
        """Draw when to kill, in order, and whom."""
        moments = sorted(self.random.uniform(EARLIEST, LATEST) for _ in range(self.kills))
        victims = [kind for _ in moments[:: len(BAG)] for kind in self.random.sample(BAG, len(BAG))]
        return list(zip(moments, victims, strict=False))

    def _kill_until(self, stop: Event) -> None:
        for moment, kind in self.plan():
            while self.progress() < moment or not self._kill(kind):
                if _CLOCK.wait(stop, _POLL):
                    return

    def _kill(self, kind: str) -> bool:
        """Kill one of that kind; return whether there was any."""
        pids = [pid for pid, line in self.machine.processes().items() if _is(kind, pid, line)]
        if not pids:
            return False
        try:
            os.kill(self.random.choice(sorted(pids)), signal.SIGKILL)
        except ProcessLookupError:  # it has just ended by itself
            return False
        self.killed[kind] += 1
        return True


def _is(kind: str, pid: int, line: str) -> bool:
    """Whether that is the process: services are forks of one program, and go by their names."""
    if kind == "client":
        return _CLIENT.search(line) is not None
    try:
        name = Path(f"/proc/{pid}/comm").read_text()
    except OSError:  # it has just ended
        return False
    return name.strip() == f"headway {kind}"[:_NAME_LENGTH]
