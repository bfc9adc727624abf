"""Frames: maps of plain data over a stream socket, each behind its length and checksum.

A frame is eight bytes, its length and its CRC-32 in network order, and that many bytes
of msgpack.  Its reader trusts nothing: the length is checked before anything is buffered,
what something else has written between is not taken for data, and the content is decoded
within the bounds of `decoding`.  Open files may go with a frame.
"""

import os
import struct
from binascii import crc32
from collections.abc import Iterable, Iterator, Mapping, Sequence
from socket import recv_fds, send_fds, socket
from typing import Any, Final, TypeAlias

import msgpack

from headway.domain.errors import SerializationError
from headway.serialization.decoding import decode

Frame: TypeAlias = dict[str, Any]


HEADER: Final = struct.Struct("!II")


_LENGTH: Final = struct.Struct("!I")


LARGEST_FRAME: Final = 16 * 2**20
"""Bytes of a frame beyond which it is refused, unless its reader says otherwise."""


_CHUNK: Final = 64 * 2**10


def encode_frame(payload: Mapping[str, object]) -> bytes:
    """Return the frame of `payload`; SerializationError if it is not plain data."""
    try:
        content: bytes = msgpack.packb(dict(payload))
        return HEADER.pack(len(content), crc32(content)) + content
    except (TypeError, ValueError, OverflowError, struct.error) as error:
        raise SerializationError(f"This cannot be sent as a frame: {error}.") from error


def send_frame(sock: socket, payload: Mapping[str, object]) -> None:
    """Send one frame.  An OSError is the socket's, as from `sendall`."""
    sock.sendall(encode_frame(payload))


def receive_frame(sock: socket, limit_bytes: int = LARGEST_FRAME) -> Frame | None:
    """Wait for one frame; None when the other side has closed instead.

    This blocks until the frame is whole.  Whoever must not wait for the other
    side's pleasure, such as a supervisor of user code, reads with a FrameReader.
    """
    header = receive_exactly(sock, HEADER.size)
    if header is None:
        return None
    content = receive_exactly(sock, content_length(header, limit_bytes))
    if content is None:
        raise _cut_off()
    return decode_content(header, content)


class FrameReader:
    """Cut a stream into frames as its bytes come in, for sockets that must not block."""

    def __init__(self, limit_bytes: int = LARGEST_FRAME) -> None:
        self._limit = limit_bytes
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[Frame]:
        """Take the next bytes of the stream; return the frames that they complete."""
        self._buffer += data
        return list(self._complete())

    def finish(self) -> None:
        """Say that the stream has ended; SerializationError if it did so within a frame."""
        if self._buffer:
            raise _cut_off()

    def _complete(self) -> Iterator[Frame]:
        while len(self._buffer) >= _LENGTH.size:  # what is too long is refused before more comes
            header = bytes(self._buffer[: HEADER.size])
            end = HEADER.size + content_length(header, self._limit)
            if len(self._buffer) < end:
                return
            content = bytes(self._buffer[HEADER.size : end])
            del self._buffer[:end]
            yield decode_content(header, content)


def content_length(header: bytes, limit_bytes: int) -> int:
    """Return the length that a header announces; SerializationError if it is over the limit."""
    (length,) = _LENGTH.unpack_from(header)
    if length > limit_bytes:
        raise SerializationError(
            f"A frame of {length:,} bytes was announced; {limit_bytes:,} is the limit."
        )
    return int(length)


def decode_content(header: bytes, content: bytes) -> Frame:
    """Return the map that a frame's bytes hold; SerializationError if they were changed."""
    _, checksum = HEADER.unpack(header)
    if crc32(content) != checksum:
        raise SerializationError("A frame was damaged: something else has written to its socket.")
    payload = decode(content)
    if not isinstance(payload, dict):
        raise SerializationError(f"A frame must hold a map, not {type(payload).__name__}.")
    return payload


def receive_exactly(sock: socket, count: int) -> bytes | None:
    """Wait for exactly `count` bytes; None if the stream ends before the first of them."""
    received = bytearray()
    while len(received) < count:
        chunk = _receive(sock, min(count - len(received), _CHUNK))
        if not chunk and received:
            raise _cut_off()
        if not chunk:
            return None
        received += chunk
    return bytes(received)


def _receive(sock: socket, count: int) -> bytes:
    try:
        return sock.recv(count)
    except ConnectionResetError:  # the other side died with bytes of ours unread
        return b""


def _cut_off() -> SerializationError:
    return SerializationError("The stream ended in the middle of a frame.")


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
        os.closerange(descriptor, descriptor + 1)  # no error for what the listing itself used
