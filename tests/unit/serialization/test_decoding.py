import struct
import subprocess
import sys
from contextlib import suppress

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.errors import SerializationError
from headway.serialization.decoding import DecodeBudget, decode

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
DATA = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)

HOSTILE = {
    "nothing": b"",
    "a lone extension": b"\xc7\x00\x05",
    "a timestamp": b"\xd6\xff\x00\x00\x00\x00",
    "four thousand million items announced": b"\xdd\xff\xff\xff\xff",
    "nested announcements": b"\xdd\x00\x0f\xff\xff" * 1000,
    "a text cut off": b"\xa5abc",
    "a text that is no UTF-8": b"\xa1\xff",
    "a reserved byte": b"\xc1",
    "two values": b"\xc0\xc0",
    "an integer as key": b"\x81\x01\x02",
    "bytes as key": b"\x81\xc4\x01a\x02",
    "a list as key": b"\x81\x90\x02",
    "a key twice": b"\x82\xa1a\x01\xa1a\x02",
    "a pickle": b"\x80\x04\x95\x0f\x00\x00\x00",
    "a million levels": b"\x91" * 1_000_000 + b"\xc0",
    "a million levels of maps": b"\x81\xa1a" * 1_000_000 + b"\xc0",
}


@given(DATA)
def test_plain_data_comes_back(value: object) -> None:
    assert decode(msgpack.packb(value)) == value


@given(st.binary(max_size=200))
def test_any_bytes_are_data_or_refused(data: bytes) -> None:
    with suppress(SerializationError):
        decode(data)


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(SerializationError):
        decode(data)


@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1a"])
def test_data_may_be_as_deep_as_allowed_and_no_deeper(opening: bytes) -> None:
    decode(opening * 5 + b"\xc0", deepest=5)
    with pytest.raises(SerializationError, match="more than 4 levels"):
        decode(opening * 5 + b"\xc0", deepest=4)


def test_elements_are_counted_over_all_lists_and_maps() -> None:
    data = msgpack.packb([[1, 2], {"a": [3]}])

    decode(data, budget=DecodeBudget(elements=6))
    with pytest.raises(SerializationError, match="too many elements"):
        decode(data, budget=DecodeBudget(elements=5))


def test_lists_and_maps_are_counted_themselves() -> None:
    data = msgpack.packb([[], {}, [[]]])

    decode(data, budget=DecodeBudget(containers=5))
    with pytest.raises(SerializationError, match="too many lists and maps"):
        decode(data, budget=DecodeBudget(containers=4))


def test_a_budget_is_for_all_that_is_decoded_with_it() -> None:
    data, budget = msgpack.packb([1, 2, 3]), DecodeBudget(elements=7)

    decode(data, budget=budget)
    decode(data, budget=budget)
    with pytest.raises(SerializationError):
        decode(data, budget=budget)


LISTS = b"\xdc" + struct.pack("!H", 60_000) + b"\x90" * 60_000


@pytest.mark.parametrize(
    ("data", "megabytes"),
    [
        (b"\x91" * 1_000_000, 20),
        (b"\xdd\x00\x0f\x00\x00" * 1000, 20),  # a million items announced, again and again
        (b"\xdd" + struct.pack("!I", 250) + LISTS * 250, 130),  # they would take a gigabyte
    ],
    ids=["deep", "announced", "empty lists"],
)
def test_hostile_bytes_take_little_memory(data: bytes, megabytes: int) -> None:
    """A process of its own, since only a fresh one can say what it took."""
    program = """
import sys
from pathlib import Path
from headway.domain.errors import SerializationError
from headway.serialization.decoding import DecodeBudget, decode

def peak():
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])

data = sys.stdin.buffer.read()
before = peak()
try:
    decode(data)
except SerializationError:
    print((peak() - before) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], input=data, capture_output=True, check=True
    )

    assert int(done.stdout) < megabytes


def test_a_long_list_is_not_deep() -> None:
    assert len(decode(b"\xdd" + struct.pack("!I", 100_000) + b"\xc0" * 100_000)) == 100_000
