import socket
from binascii import crc32
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.errors import SerializationError
from headway.runtime.processes.frames import (
    HEADER,
    FrameReader,
    encode_frame,
    receive_frame,
    send_frame,
)

Pair = tuple[socket.socket, socket.socket]
FRAMES = st.lists(
    st.dictionaries(st.text(max_size=5), st.integers(0, 9) | st.text(max_size=5), max_size=4),
    max_size=5,
)


@pytest.fixture
def pair() -> Iterator[Pair]:
    here, there = socket.socketpair()
    with here, there:
        yield here, there


def test_a_frame_travels(pair: Pair) -> None:
    send_frame(pair[0], {"a": [1, {"b": None}]})

    assert receive_frame(pair[1]) == {"a": [1, {"b": None}]}


def test_the_end_between_frames_is_none(pair: Pair) -> None:
    send_frame(pair[0], {})
    pair[0].close()

    assert receive_frame(pair[1]) == {}
    assert receive_frame(pair[1]) is None


def test_a_death_with_unread_bytes_is_the_end(pair: Pair) -> None:
    pair[1].sendall(b"never read")
    pair[0].close()

    assert receive_frame(pair[1]) is None


@pytest.mark.parametrize("cut", [1, 7, 8, 9])
def test_the_end_within_a_frame_is_an_error(pair: Pair, cut: int) -> None:
    pair[0].sendall(encode_frame({"a": 1})[:cut])
    pair[0].close()

    with pytest.raises(SerializationError, match="middle of a frame"):
        receive_frame(pair[1])


def test_a_long_frame_is_refused_by_its_header_alone(pair: Pair) -> None:
    pair[0].sendall(HEADER.pack(1001, 0))

    with pytest.raises(SerializationError, match="1,001 bytes was announced; 1,000 is the limit"):
        receive_frame(pair[1], limit_bytes=1000)


@pytest.mark.parametrize("content", [b"\x90", b"\x01", b"", b"\x81"])
def test_a_frame_holds_a_map(pair: Pair, content: bytes) -> None:
    pair[0].sendall(HEADER.pack(len(content), crc32(content)) + content)

    with pytest.raises(SerializationError):
        receive_frame(pair[1])


@pytest.mark.parametrize("place", [4, 8, -1])
def test_a_frame_into_which_something_else_was_written_is_refused(pair: Pair, place: int) -> None:
    frame = bytearray(encode_frame({"state": "success"}))
    frame[place] ^= 1
    pair[0].sendall(frame)

    with pytest.raises(SerializationError, match="was damaged"):
        receive_frame(pair[1])
    with pytest.raises(SerializationError, match="was damaged"):
        FrameReader().feed(bytes(frame))


@pytest.mark.parametrize("value", [object(), 2**64, {1, 2}, "\ud800"])
def test_what_is_no_data_is_not_sent(value: object) -> None:
    with pytest.raises(SerializationError, match="cannot be sent"):
        encode_frame({"a": value})


@given(FRAMES, st.integers(1, 7))
def test_a_reader_finds_the_frames_however_the_stream_is_cut(
    frames: list[dict[str, object]], size: int
) -> None:
    stream = b"".join(map(encode_frame, frames))
    reader = FrameReader()

    chunks = [stream[start : start + size] for start in range(0, len(stream), size)]
    found = [frame for chunk in chunks for frame in reader.feed(chunk)]
    reader.finish()

    assert found == frames


def test_a_reader_refuses_a_long_frame_before_it_comes() -> None:
    with pytest.raises(SerializationError, match="is the limit"):
        FrameReader(limit_bytes=10).feed(HEADER.pack(11, 0)[:4])


def test_a_reader_refuses_a_stream_that_ends_within_a_frame() -> None:
    reader = FrameReader()
    reader.feed(encode_frame({"a": 1})[:-1])

    with pytest.raises(SerializationError, match="middle of a frame"):
        reader.finish()
