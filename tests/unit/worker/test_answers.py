"""Answers on their way to a child: they hold up nobody, however slowly it reads."""

import selectors
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.runtime.forker import Child
from headway.runtime.frames import FrameReader, encode_frame
from headway.testing.clock import FakeClock
from headway_worker.attempt import Attempt
from headway_worker.log_file import LogFile

LARGE = {"found": True, "value": "x" * 2**20}


class Line:
    """An attempt whose child is this test: what it reads, and what its nanny is ordered."""

    def __init__(self, folder: Path, clock: FakeClock) -> None:
        channel, self.childs = socket.socketpair()
        reins, self.nannys = socket.socketpair()
        self.nannys.setblocking(False)
        self.childs.setblocking(False)
        channel.setblocking(False)
        self.child = Child(channel, reins, lambda _: None)
        self.log = LogFile(folder / "log", 2**20, clock)
        work: Any = None
        self.attempt = Attempt(work, self.child, self.log, -1, folder)
        self.selector = selectors.DefaultSelector()
        self.selector.register(channel, selectors.EVENT_READ, self.attempt)
        self.reader = FrameReader(limit_bytes=2**26)

    def answer(self, frame: dict[str, object]) -> None:
        self.attempt.answer(frame, self.selector)

    def heeds(self) -> int:
        """What the supervisor waits for on the channel."""
        return self.selector.get_key(self.child.channel).events

    def read(self) -> list[dict[str, object]]:
        """Read all that the child gets, for as long as there is anything."""
        frames: list[dict[str, object]] = []
        while True:
            try:
                frames += self.reader.feed(self.childs.recv(2**20))
            except BlockingIOError:
                if self.heeds() == selectors.EVENT_READ:
                    return frames
                self.attempt.send(self.selector)

    def killed(self) -> bool:
        try:
            return self.nannys.recv(4096) == encode_frame({"stop": None})
        except BlockingIOError:
            return False

    def close(self) -> None:
        self.selector.close()
        self.child.close()
        self.log.close()
        self.childs.close()
        self.nannys.close()


@pytest.fixture
def line(tmp_path: Path, clock: FakeClock) -> Iterator[Line]:
    line = Line(tmp_path, clock)
    yield line
    line.close()


def test_a_small_answer_is_sent_at_once(line: Line) -> None:
    line.answer({"saved": True})

    assert line.heeds() == selectors.EVENT_READ
    assert line.read() == [{"saved": True}]


def test_a_large_answer_waits_for_its_reader_and_holds_up_nobody(line: Line) -> None:
    line.answer(LARGE)
    line.answer({"saved": True})
    assert line.heeds() == selectors.EVENT_WRITE  # and so no further question is heard

    assert line.read() == [LARGE, {"saved": True}]
    assert line.heeds() == selectors.EVENT_READ
    assert not line.killed()


def test_a_child_that_never_reads_is_killed_before_it_takes_all_memory(line: Line) -> None:
    answers = 0
    while not line.killed():
        line.answer(LARGE)
        answers += 1
        assert answers < 50

    assert answers > 16
    assert "does not read its answers" in line.log.path.read_text()


def test_a_child_that_has_gone_needs_no_answer(line: Line) -> None:
    line.childs.close()
    line.answer(LARGE)

    assert line.killed()
    assert line.heeds() == selectors.EVENT_READ


def test_a_child_whose_channel_is_no_longer_watched_may_be_answered(line: Line) -> None:
    line.selector.unregister(line.child.channel)
    line.answer({"saved": True})

    assert line.reader.feed(line.childs.recv(4096)) == [{"saved": True}]


def test_one_is_told_to_stop_once(line: Line) -> None:
    line.attempt.cancel(5)
    line.attempt.cancel(5)

    assert line.nannys.recv(4096) == encode_frame({"stop": 5})
    assert line.log.path.read_text().count("told to stop") == 1
