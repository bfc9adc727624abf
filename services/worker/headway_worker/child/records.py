"""A task's own logging, on its way into the attempt's log: one record after the other to stderr."""

import logging
import sys
from contextlib import suppress
from typing import Final

from headway.runtime.logs.lines import record

_CHATTY: Final = tuple(map(logging.getLogger, ("py4j", "pyspark.sql.connect.logging")))


class Records(logging.Handler):
    """Write each record with its level and logger, and with its traceback, so that it stays one."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter())  # the message and its traceback alone
        self._stream = sys.stderr  # the log's, wherever the task may lead its own to

    def emit(self, entry: logging.LogRecord) -> None:
        """Write a record; one that cannot be formatted is told of as `logging` does."""
        try:
            message = self.format(entry)
        except Exception:  # noqa: BLE001 - whatever user code raises while it is formatted
            self.handleError(entry)
            return
        line = record(entry.levelname, entry.name, message)
        with suppress(OSError, ValueError):  # user code has closed it
            self._stream.write(f"{line}\n")
            self._stream.flush()


def send_records() -> None:
    """Have everything that the task logs, from INFO on, come into its log.

    What is so already is left as it is, at best by a process that this one was forked from.
    """
    root = logging.root
    if [type(handler) for handler in root.handlers] != [Records] or root.level != logging.INFO:
        logging.basicConfig(level=logging.INFO, handlers=[Records()], force=True)
    for logger in _CHATTY:
        if logger.level != logging.WARNING:
            logger.setLevel(logging.WARNING)
