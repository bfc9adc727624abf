"""What the supervisors of one worker share: settings, clock, selector, background threads."""

import selectors
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from headway.runtime.daemon.clock import Clock
from headway.runtime.daemon.loop import Pace
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.supervision.background_call import BackgroundCall


def one_thread(name: str) -> Executor:
    """Return a thread that does one thing at a time."""
    return ThreadPoolExecutor(1, name)


@dataclass(frozen=True, slots=True)
class WorkerHost:
    """What supervisors share; `ring` wakes the thread that waits on `selector`.

    `pace` says how often the database is asked for work while there is none.
    """

    settings: WorkerSettings
    clock: Clock
    pace: Pace
    selector: selectors.BaseSelector
    ring: Callable[[], None]
    new_thread: Callable[[str], Executor] = one_thread
    _threads: list[Executor] = field(default_factory=list)

    def background(self, name: str) -> BackgroundCall[Any]:
        """Return a call that a thread of its own makes; `name` is for logs and metrics."""
        self._threads.append(self.new_thread(name))
        return BackgroundCall(name, self._threads[-1], self.ring, self.clock)

    def close(self) -> None:
        """Wait for the calls under way, and end the threads."""
        for thread in self._threads:
            thread.shutdown(wait=True, cancel_futures=True)
