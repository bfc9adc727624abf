"""A task's own logging, on its way into the attempt's log: one record after the other to stderr."""

import logging
import sys
from contextlib import suppress
from typing import Final

from headway.runtime.log_lines import record

_CHATTY: Final = ("py4j", "pyspark.sql.connect.logging")


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

    It is done once, at best before this process is forked from another one that has.
    """
    if any(isinstance(handler, Records) for handler in logging.root.handlers):
        return
    logging.basicConfig(level=logging.INFO, handlers=[Records()], force=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
