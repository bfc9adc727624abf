"""What a task does elsewhere when it is told to stop: its operator's `on_kill`."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from headway.sdk.authoring.operator import BaseOperator
from headway.sdk.running.tracebacks import message_of, traceback_of


@contextmanager
def minding_kill(operator: BaseOperator) -> Iterator[None]:
    """At SIGTERM have `on_kill` called before this process ends by it, if the operator has one.

    It is called once, and there is only so much time for it: then whoever sends the signal
    kills the process.  A second signal ends it at once.
    """
    if not _has_one(operator) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        try:
            operator.on_kill()
        except Exception as error:  # noqa: BLE001 - the process ends by the signal all the same
            print(traceback_of(error) or message_of(error), flush=True)  # noqa: T201
        os.kill(os.getpid(), number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _has_one(operator: BaseOperator) -> bool:
    return type(operator).on_kill is not BaseOperator.on_kill
