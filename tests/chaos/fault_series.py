"""Faults as generators, several in progress at a time in one thread.

A fault is a generator: each `yield` gives way until the next look.  It returns whether its effect
was seen.  One thread does everything: a process that dies with its parent dies with the thread
that has started it.
"""

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final, TypeAlias

from headway.runtime.daemon.clock import Clock

Steps: TypeAlias = Generator[None, None, bool]
"""A fault in progress; it returns whether its effect was seen."""

REST: Final = (0.5, 4.0)
"""Seconds between two faults of a series, least and most."""


@dataclass(slots=True)
class Timer:
    """Waits of faults, which give way meanwhile."""

    clock: Clock

    def wait(self, seconds: float) -> Generator[None, None, None]:
        """Give way for so long."""
        end = self.clock.monotonic() + seconds
        while self.clock.monotonic() < end:
            yield

    def until(self, seen: Callable[[], bool], patience: float) -> Steps:
        """Give way until that is seen; return whether it was."""
        end = self.clock.monotonic() + patience
        while not seen():
            if self.clock.monotonic() > end:
                return False
            yield
        return True


@dataclass(frozen=True, slots=True)
class Span:
    """When there was a fault of that kind, in seconds of a monotonic clock."""

    kind: str
    began: float
    ended: float


@dataclass(slots=True)
class FaultSeries:
    """One fault at a time, drawn from a bag so that all kinds come equally often."""

    timer: Timer
    random: Random
    faults: Sequence[tuple[str, Callable[[], Steps]]]
    done: Counter[str] = field(default_factory=Counter)
    """How often the effect of each fault was seen."""
    missed: Counter[str] = field(default_factory=Counter)
    """How often a fault had nothing to hit, or its effect was not seen."""
    spans: list[Span] = field(default_factory=list)
    """When each fault was that is over."""
    current: str = ""
    _bag: list[tuple[str, Callable[[], Steps]]] = field(default_factory=list)
    _steps: Steps | None = None

    def step(self) -> None:
        """Go on with the fault in progress, or begin the next one."""
        if self._steps is None:
            self._begin()
        self._go_on()

    def finish(self) -> None:
        """Go on with the fault in progress; begin none."""
        self._go_on()

    @property
    def busy(self) -> bool:
        """Whether a fault is in progress."""
        return self._steps is not None

    def _begin(self) -> None:
        if not self._bag:
            self._bag = self.random.sample(list(self.faults), len(self.faults))
        self.current, fault = self._bag.pop()
        self._steps = self._with_rest(fault())

    def _with_rest(self, fault: Steps) -> Steps:
        kind, began = self.current, self.timer.clock.monotonic()
        seen = yield from fault
        self.spans.append(Span(kind, began, self.timer.clock.monotonic()))
        yield from self.timer.wait(self.random.uniform(*REST))
        return seen

    def _go_on(self) -> None:
        if self._steps is None:
            return
        try:
            next(self._steps)
        except StopIteration as end:
            (self.done if end.value else self.missed)[self.current] += 1
            self._steps = None
