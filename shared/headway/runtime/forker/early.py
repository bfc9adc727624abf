"""Have a fork server start while its supervisor does something else: it takes as long."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from headway.runtime.forker.client import Forker


def begin(start: Callable[[], Forker]) -> Future[Forker]:
    """Begin to start a fork server, in a thread."""
    threads = ThreadPoolExecutor(1, "forker")
    starting = threads.submit(start)
    threads.shutdown(wait=False)
    return starting
