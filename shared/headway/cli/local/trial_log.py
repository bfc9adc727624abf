"""What a task logs when it runs in the process of its author: it is printed, as what it prints."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_CHATTY: Final = ("py4j", "pyspark.sql.connect.logging")


class _Printed(logging.Handler):
    """Print each record where standard output leads at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record; one that cannot be formatted is told of as `logging` does."""
        try:
            sys.stdout.write(f"{self.format(record)}\n")
            sys.stdout.flush()
        except Exception:  # noqa: BLE001 - whatever user code raises while it is formatted
            self.handleError(record)


@contextmanager
def shown_log() -> Iterator[None]:
    """Print what is logged from INFO on, unless the program says itself where its log goes."""
    root = logging.root
    if root.handlers:
        yield
        return
    handler, level = _Printed(), root.level
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
