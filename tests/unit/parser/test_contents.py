import os
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from headway.testing.time.clock import FakeClock
from headway_parser import contents
from headway_parser.contents import FileContents, signature_of, stamp_of
from headway_parser.file_patterns import ABSENT


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "a.py"
    file.write_bytes(b"one")
    return file


def later(file: Path) -> FakeClock:
    """Return a clock that shows a second after the file's last change."""
    clock = FakeClock()
    ahead = file.stat().st_ctime + 1 - clock.now().timestamp()
    clock.advance(timedelta(seconds=ahead).total_seconds())
    return clock


def test_the_hash_is_that_of_the_content(file: Path) -> None:
    assert FileContents(later(file)).hash(file) == sha256(b"one").hexdigest()


def test_what_has_not_changed_is_not_read_again(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = FileContents(later(file))
    first = known.hash(file)
    monkeypatch.setattr(contents, "_read", lambda _: pytest.fail("it was read again"))

    assert known.hash(file) == first


def test_of_a_known_stamp_the_file_is_not_even_looked_at(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known, stamp = FileContents(later(file)), stamp_of(file)
    first = known.hash(file)
    monkeypatch.setattr(contents, "stamp_of", lambda _: pytest.fail("it was looked at"))

    assert known.look(file.parent, file.name, stamp) == first


def test_a_file_that_was_just_written_is_read_again(file: Path) -> None:
    """Its times may not tell the next change: they are coarse."""
    clock = FakeClock()
    clock.advance(file.stat().st_ctime - clock.now().timestamp())
    known = FileContents(clock)
    first, times = known.hash(file), file.stat()
    file.write_bytes(b"two")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert known.hash(file) != first


def test_an_edit_of_the_same_length_is_seen(file: Path) -> None:
    known = FileContents(later(file))
    first = known.hash(file)
    file.write_bytes(b"two")

    assert known.hash(file) != first


def test_a_file_that_went_and_came_back_is_read_again(file: Path) -> None:
    known = FileContents(later(file))
    first = known.hash(file)
    file.unlink()
    assert known.hash(file) == ABSENT
    file.write_bytes(b"one")

    assert known.hash(file) == first


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: path.symlink_to(path)])
def test_what_is_no_file_has_no_content(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "odd")

    assert FileContents(FakeClock()).hash(tmp_path / "odd") == ABSENT
    assert stamp_of(tmp_path / "odd") is None


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "pipe")

    assert contents._read(tmp_path / "pipe") == ABSENT


def test_a_huge_file_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_BYTES", 2)

    assert FileContents(FakeClock()).hash(file) == ABSENT


def test_a_file_is_read_once_by_whatever_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = FileContents(later(file))
    (file.parent / "again").symlink_to(file.parent)
    first = known.hash(file)
    monkeypatch.setattr(contents, "_read", lambda _: pytest.fail("it was read again"))

    assert known.hash(file.parent / "again" / "a.py") == first


def test_what_is_remembered_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "MOST_KNOWN", 2)
    for name in "abc":
        (tmp_path / name).write_text(name)
    known = FileContents(later(tmp_path / "c"))

    assert len({known.hash(tmp_path / name) for name in "abc"}) == 3
    assert len(known._known) <= 2


def test_a_signature_tells_every_content_and_every_release_apart() -> None:
    told = {
        signature_of({"a.py": "1"}, "release"),
        signature_of({"a.py": "2"}, "release"),
        signature_of({"b.py": "1"}, "release"),
        signature_of({"a.py": "1", "b.py": "1"}, "release"),
        signature_of({"a.py": "1"}, "another"),
    }

    assert len(told) == 5
    assert signature_of({"a": "1", "b": "2"}, "r") == signature_of({"b": "2", "a": "1"}, "r")
