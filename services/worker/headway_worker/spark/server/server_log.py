"""The log of a Spark Connect server: what it prints, without secrets, in files of limited size."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from threading import Thread
from typing import IO, Final

from headway.runtime.masking import Masker
from headway_worker.logs.disk import LogDisk
from headway_worker.logs.file import PATIENCE

LARGEST_FILE: Final = 10 * 2**20
"""Bytes after which the file becomes the previous one, in the place of that."""

LARGEST_END: Final = 64 * 2**10
_CHUNK: Final = 64 * 2**10
_READY: Final = re.compile(rb"Spark Connect server started at: \S*:(\d+)\D")
_LONGEST_READY: Final = 2**10


@dataclass(slots=True)
class ServerLog:
    """Keep the newest that a server prints: in two files, and its `end` in memory as well.

    A secret is masked from when `masker` has it.  `port` is where the server listens, once it
    has said so.  `take`, `pause` and `close` are one thread's.
    """

    path: Path
    largest: int = LARGEST_FILE
    masker: Masker = field(default_factory=Masker)
    port: int | None = None
    end: bytes = b""
    _unsearched: bytes = b""
    _disk: LogDisk = field(init=False)

    def __post_init__(self) -> None:
        self._disk = self._open()

    @property
    def previous(self) -> Path:
        """The file of what was printed before that in `path`."""
        return self.path.with_name(self.path.name + ".1")

    def take(self, data: bytes) -> None:
        """Take what the server has printed next."""
        if self.port is None:
            self._look_for_port(data)
        self._write(self.masker.feed(data))

    def pause(self) -> None:
        """Write whole lines that may be the beginning of a secret: nothing has come for a while."""
        self._write(self.masker.flush_lines())

    def close(self) -> None:
        """Write what is left, and close the file."""
        self._write(self.masker.flush())
        self._disk.close(b"")

    def _look_for_port(self, data: bytes) -> None:
        """Find the port in what is not masked: a secret may be any word, and any number."""
        text = self._unsearched + data
        found = _READY.search(text)
        self.port = int(found[1]) if found else None
        self._unsearched = b"" if found else text[-_LONGEST_READY:]

    def _write(self, data: bytes) -> None:
        if not data:
            return
        self.end = (self.end + data)[-LARGEST_END:]
        if self._disk.size + len(data) > self.largest:
            self._disk.close(b"")
            with suppress(OSError):  # it was removed, or nothing could be written
                self.path.replace(self.previous)
            self._disk = self._open()
        self._disk.write(data)

    def _open(self) -> LogDisk:
        return LogDisk(self.path.parent, Path(self.path.name), _lost)


def follow(output: IO[bytes], server_log: ServerLog, is_alive: Callable[[], bool]) -> Thread:
    """Have a thread read the pipe `output` into a log until the server has ended.

    It ends with the server also where another process has that pipe still open.
    """
    thread = Thread(
        target=_follow, args=(output, server_log, is_alive), name="spark-log", daemon=True
    )
    thread.start()
    return thread


def _follow(output: IO[bytes], server_log: ServerLog, is_alive: Callable[[], bool]) -> None:
    # However this ends the pipe is closed: a server does not wait for somebody to read that one.
    with output, DefaultSelector() as selector:
        selector.register(output, EVENT_READ)
        while True:
            if selector.select(PATIENCE):
                data = os.read(output.fileno(), _CHUNK)
                if not data:
                    break
                server_log.take(data)
            elif is_alive():
                server_log.pause()
            else:
                break
        server_log.close()


def _lost(count: int, reason: str) -> bytes:
    return f"[headway] {count:,} bytes of this log could not be written: {reason}.\n".encode()
