"""Threads for tests that need none: each call is made at once, in the thread that submits it."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class AtOnce(Executor):
    """An executor that has done what it is given."""

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Make the call, and return its result or its error as done."""
        done: Future[Any] = Future()
        try:
            done.set_result(call(*args, **kwargs))
        except Exception as error:  # noqa: BLE001 - as executors do
            done.set_exception(error)
        return done
