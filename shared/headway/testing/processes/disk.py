"""A disk that is full."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """Have the kernel refuse to let any file grow beyond that, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
