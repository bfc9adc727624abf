"""The log of a Connect server: no secret in it, no end to how much may be printed, and its end."""

import os
from pathlib import Path

import pytest

from headway.testing.processes.disk import largest_file
from headway_worker.spark.server.server_log import LARGEST_END, ServerLog, follow

CANARY = "canary-8f1e"
LISTENS = b"26/11/22 16:00:00 INFO SparkConnectServer: Spark Connect server started at: "
SECONDS = 60.0


@pytest.fixture
def server_log(tmp_path: Path) -> ServerLog:
    made = ServerLog(tmp_path / "server.log", largest=1000)
    made.masker.prepare(CANARY)
    return made


def test_a_secret_is_masked_however_it_is_cut(server_log: ServerLog) -> None:
    for piece in (b"it is can", b"ary", b"-8f1e\nand ca", b"nada, cana"):
        server_log.take(piece)
    server_log.close()

    assert server_log.path.read_bytes() == b"it is ***\nand canada, cana"
    assert server_log.end == b"it is ***\nand canada, cana"


def test_one_that_an_attempt_is_given_later_is_masked_from_then_on(server_log: ServerLog) -> None:
    server_log.take(b"tiger-5\n")
    server_log.masker.prepare("tiger-5")
    server_log.take(b"tiger-5\n")

    assert server_log.path.read_bytes() == b"tiger-5\n***\n"


def test_what_may_be_the_beginning_of_a_secret_is_written_after_a_while(
    server_log: ServerLog,
) -> None:
    server_log.masker.prepare("first\nsecond")
    server_log.take(b"first\n")
    assert not server_log.path.exists()

    server_log.pause()

    assert server_log.path.read_bytes() == b"first\n"


def test_of_what_never_ends_the_newest_is_kept(server_log: ServerLog) -> None:
    for number in range(1000):
        server_log.take(b"line %d\n" % number)
        assert server_log.path.stat().st_size <= 1000
    server_log.close()

    kept = server_log.previous.read_bytes() + server_log.path.read_bytes()
    assert kept.endswith(b"line 998\nline 999\n")
    assert 1000 < len(kept) <= 2000
    assert b"".join(b"line %d\n" % number for number in range(1000)).endswith(kept)
    assert sorted(server_log.path.parent.iterdir()) == [server_log.path, server_log.previous]


def test_the_end_that_is_told_of_is_limited_too(server_log: ServerLog) -> None:
    for _ in range(4):
        server_log.take(b"x" * LARGEST_END)
    server_log.take(b"\nthe end\n")

    assert server_log.end.endswith(b"\nthe end\n")
    assert len(server_log.end) == LARGEST_END


@pytest.mark.parametrize("cut", range(len(LISTENS) - 10, len(LISTENS) + 16))
def test_the_port_is_found_however_the_line_is_cut(tmp_path: Path, cut: int) -> None:
    server_log = ServerLog(tmp_path / "server.log")
    line = LISTENS + b"127.0.0.1:45123\n"
    server_log.take(b"x" * 5000 + line[:cut])
    assert server_log.port is None

    server_log.take(line[cut:])
    server_log.take(LISTENS + b"127.0.0.1:6\n")  # whoever else prints that

    assert server_log.port == 45123


def test_the_port_is_found_whatever_is_secret(server_log: ServerLog) -> None:
    server_log.masker.prepare("45123")
    server_log.masker.prepare("Spark")
    server_log.take(LISTENS + b"127.0.0.1:45123\n")

    assert server_log.port == 45123
    assert b"45123" not in server_log.end


def test_a_full_disk_is_said_to_be_once_it_is_not_and_the_end_is_known(
    server_log: ServerLog,
) -> None:
    server_log.take(b"before\n")
    with largest_file(7):
        server_log.take(b"lost\n")
        assert server_log.end == b"before\nlost\n"
    server_log.take(b"after\n")
    server_log.close()

    before, said, after = server_log.path.read_text().splitlines()
    assert (before, after) == ("before", "after")
    assert said == "[headway] 5 bytes of this log could not be written: File too large."


def test_a_file_that_somebody_has_removed_changes_nothing(server_log: ServerLog) -> None:
    server_log.take(b"x" * 999 + b"\n")
    server_log.path.unlink()
    server_log.take(b"next\n")

    assert server_log.path.read_bytes() == b"next\n"
    assert not server_log.previous.exists()


class Server:
    """A process that has ended or not, and where it prints to."""

    def __init__(self, server_log: ServerLog) -> None:
        self.has_ended = False
        reading, self.printing = os.pipe()
        output = os.fdopen(reading, "rb", buffering=0)
        self.reader = follow(output, server_log, lambda: not self.has_ended)


def test_it_is_read_to_its_end(server_log: ServerLog) -> None:
    server = Server(server_log)
    with os.fdopen(server.printing, "wb") as printing:
        for _ in range(100):
            printing.write(b"x" * 9999 + b"\n")  # far more than a pipe holds
        printing.write(b"the end is cana")
    server.reader.join(SECONDS)

    assert not server.reader.is_alive()
    assert server_log.end.endswith(b"x\nthe end is cana")


def test_it_ends_with_its_server_though_another_process_has_the_pipe(server_log: ServerLog) -> None:
    server = Server(server_log)
    os.write(server.printing, b"the end")
    server.has_ended = True
    server.reader.join(SECONDS)

    assert not server.reader.is_alive()
    assert server_log.path.read_bytes() == b"the end"
    os.close(server.printing)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_server_never_waits_for_a_reader_that_has_failed(
    server_log: ServerLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_log: ServerLog, _data: bytes) -> None:
        raise MemoryError

    monkeypatch.setattr(ServerLog, "take", fail)
    server = Server(server_log)
    os.write(server.printing, b"one")
    server.reader.join(SECONDS)

    with pytest.raises(BrokenPipeError):
        os.write(server.printing, b"two")
    os.close(server.printing)
