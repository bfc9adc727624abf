"""How long passes take, as a metric."""

from collections.abc import Iterator
from contextlib import contextmanager

from headway.metrics.scheduler import PASS_SECONDS
from headway.runtime.daemon.clock import Clock


@contextmanager
def timed(name: str, clock: Clock) -> Iterator[None]:
    """Count how long the pass of that name takes, also one that fails."""
    began = clock.monotonic()
    try:
        yield
    finally:
        PASS_SECONDS.observe(clock.monotonic() - began, name)
