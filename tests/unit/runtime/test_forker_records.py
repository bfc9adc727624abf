import signal

import pytest

from headway.runtime.forker import ChildLimits, ChildSpec, Exit
from headway.runtime.processes.frames import HEADER, encode_frame
from headway.serialization.decoding import decode


@pytest.mark.parametrize(
    ("status", "end", "succeeded"),
    [
        (0, Exit(code=0), True),
        (3 << 8, Exit(code=3), False),
        (signal.SIGKILL, Exit(signal=signal.SIGKILL), False),
        (signal.SIGSEGV | 0x80, Exit(signal=signal.SIGSEGV), False),
    ],
)
def test_an_exit_says_what_the_wait_status_says(status: int, end: Exit, succeeded: bool) -> None:
    assert Exit.from_wait_status(status) == end
    assert end.succeeded is succeeded


def test_a_lost_child_has_not_succeeded() -> None:
    assert not Exit(lost="The forker died.").succeeded


def test_a_spec_travels() -> None:
    spec = ChildSpec(
        target="a.b:c",
        argument={"n": 1},
        environment={"A": "b"},
        directory="/tmp",
        limits=ChildLimits(open_files=20, niceness=5),
    )

    assert ChildSpec.from_frame(decode(encode_frame(spec.to_frame())[HEADER.size :])) == spec
