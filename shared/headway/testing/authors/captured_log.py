"""What a task prints and logs, kept for its test and passed on to where it would have gone."""

import logging
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import BufferedIOBase, StringIO, TextIOWrapper
from typing import TextIO


class _Copying(BufferedIOBase):
    """Bytes that go to a text, and to a stream besides."""

    def __init__(self, log: StringIO, stream: TextIO) -> None:
        self._log = log
        self._stream = stream
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def write(self, data: bytes | bytearray | memoryview, /) -> int:  # type: ignore[override]
        """Write to both."""
        text = self._decoder.decode(bytes(data))
        self._log.write(text)
        self._stream.write(text)
        return len(data)

    def flush(self) -> None:
        """Pass on what the stream still holds."""
        if not self.closed:
            self._stream.flush()


@contextmanager
def captured_log() -> Iterator[StringIO]:
    """Keep what is printed, and what is logged from INFO on, within the context."""
    log = StringIO()
    streams = [
        TextIOWrapper(_Copying(log, stream), encoding="utf-8", write_through=True)  # type: ignore[type-var]
        for stream in (sys.stdout, sys.stderr)
    ]
    handler = logging.StreamHandler(log)
    handler.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
    root, level = logging.root, logging.root.level
    root.addHandler(handler)
    root.setLevel(min(level, logging.INFO))
    try:
        with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
            yield log
    finally:
        root.removeHandler(handler)
        root.setLevel(level)
        for stream in streams:
            stream.detach()
