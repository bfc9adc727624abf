"""Messages between supervisor, forker and nannies: a frame, and open files that go with it."""

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from socket import recv_fds, send_fds, socket
from typing import Final

from headway.domain.errors import SerializationError
from headway.runtime.frames import (
    HEADER,
    LARGEST_FRAME,
    Frame,
    content_length,
    decode_content,
    receive_exactly,
)

_MOST_FILES: Final = 4


def send_message(sock: socket, frame: bytes, files: Sequence[int] = ()) -> None:
    """Send an encoded frame and copies of these descriptors; the sender keeps its own."""
    sent = send_fds(sock, [frame], files)
    sock.sendall(frame[sent:])


def receive_message(sock: socket) -> tuple[Frame, list[int]] | None:
    """Wait for a message; None when the other side has closed, or died within one.

    There are fewer files than were sent when this process may not open as many.
    """
    try:
        header, files, _flags, _address = recv_fds(sock, HEADER.size, _MOST_FILES)
        if not header:
            return None
        header += receive_exactly(sock, HEADER.size - len(header)) or b""
        content = receive_exactly(sock, content_length(header, LARGEST_FRAME))
    except (ConnectionResetError, SerializationError):
        return None
    return (decode_content(header, content), files) if content else None


def close_all(files: Iterable[int]) -> None:
    """Close these files in this process."""
    for descriptor in files:
        os.close(descriptor)


def close_all_but(kept: Iterable[int]) -> None:
    """Close every file of this process but the `kept` ones."""
    unwanted = set(map(int, os.listdir("/dev/fd"))).difference(kept)  # noqa: PTH208 - numbers
    for descriptor in unwanted:
        with suppress(OSError):  # the one that the listing itself used
            os.close(descriptor)
