"""Listing again and again: what is remembered, and what changes meanwhile."""

import os
import socket
import subprocess
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headway.testing.time.clock import FakeClock
from headway_parser.contents import read_regular
from headway_parser.discover import listing, walking
from headway_parser.discover.listing import Lister, Listing

DAG = "from headway.sdk import DAG\n"


def write(root: Path, *names: str, content: str = DAG) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read."""
    found: list[str] = []
    monkeypatch.setattr(listing, "_SETTLED", -3600.0)
    before = read_regular

    def note(path: Path, most: int) -> bytes | None:
        found.append(path.name)
        return before(path, most)

    monkeypatch.setattr(listing, "read_regular", note)
    return found


def test_what_has_not_changed_is_not_read_again(tmp_path: Path, reads: list[str]) -> None:
    write(tmp_path, "a.py", "b.py")
    write(tmp_path, "no.py", content="nothing")
    lister = Lister()

    assert {lister.list(tmp_path) for _ in range(3)} == {Listing(("a.py", "b.py"), complete=True)}
    assert sorted(reads) == ["a.py", "b.py", "no.py"]


def test_a_change_is_seen_even_if_size_and_date_are_as_before(
    tmp_path: Path, reads: list[str]
) -> None:
    write(tmp_path, "a.py")
    lister = Lister()
    lister.list(tmp_path)
    before = (tmp_path / "a.py").stat()
    while (tmp_path / "a.py").stat().st_ctime_ns == before.st_ctime_ns:  # the clock of the disk
        write(tmp_path, "a.py", content="x" * len(DAG))
        os.utime(tmp_path / "a.py", ns=(before.st_atime_ns, before.st_mtime_ns))

    assert lister.list(tmp_path).paths == ()
    assert reads == ["a.py", "a.py"]


def test_what_has_changed_just_now_is_read_again(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes within a tick of the disk's clock have one timestamp."""
    monkeypatch.setattr(listing, "_SETTLED", 2.0)
    write(tmp_path, "a.py")
    lister = Lister()
    lister.list(tmp_path)
    lister.list(tmp_path)

    assert reads == ["a.py", "a.py"]


def test_what_is_gone_is_forgotten(tmp_path: Path, reads: list[str]) -> None:
    write(tmp_path, "a.py", "b.py")
    lister = Lister()
    lister.list(tmp_path)
    (tmp_path / "a.py").unlink()
    lister.list(tmp_path)

    assert list(lister._verdicts) == ["b.py"]


def test_without_safe_mode_every_file_counts_that_is_not_empty(tmp_path: Path) -> None:
    write(tmp_path, "a.py", content="x = 1")
    write(tmp_path, "empty.py", content="")
    write(tmp_path, "notes.txt")

    assert Lister(safe_mode=False).list(tmp_path).paths == ("a.py",)
    assert Lister().list(tmp_path).paths == ()


def test_a_source_in_utf_16_is_listed_to_become_an_import_error(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(DAG.encode("utf-16"))
    (tmp_path / "b.py").write_bytes(DAG.encode("utf-8-sig"))
    (tmp_path / "c.py").write_bytes(b"# \xe9\n" + DAG.encode())

    assert Lister().list(tmp_path).paths == ("a.py", "b.py", "c.py")


def test_a_name_that_cannot_be_stored_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "a\nb.py", "\udcff.py")
    lister = Lister()

    assert {lister.list(tmp_path) for _ in range(2)} == {Listing((), complete=True)}
    assert sorted(record.message.rpartition("/")[2] for record in caplog.records) == [
        "\\udcff.py: its name cannot be stored",
        "a\\nb.py: its name cannot be stored",
    ]


def test_a_path_that_is_too_long_to_be_opened_is_no_hindrance(tmp_path: Path) -> None:
    write(tmp_path, "good.py")
    here = os.open(tmp_path, os.O_RDONLY)
    for _ in range(5_000):
        os.mkdir("d", dir_fd=here)
        there = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    os.close(here)

    listing = Lister().list(tmp_path)
    subprocess.run(["rm", "-rf", str(tmp_path / "d")], check=True)  # Python would recurse

    assert listing == Listing(("good.py",), complete=True)


def test_a_link_never_gives_the_files_of_the_bundle_another_name(tmp_path: Path) -> None:
    write(tmp_path, "team/etl/a.py")
    (tmp_path / "alias").symlink_to("team")
    (tmp_path / "team" / "above").symlink_to("..")
    lister = Lister()

    assert lister.list(tmp_path).paths == ("team/etl/a.py",)


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """Do something once, after the first folder was scanned and before it is looked at."""

    def plan(act: Callable[[], None]) -> None:
        before, acts = walking.Walk._look_at, [act]

        def look_at(walk: walking.Walk, *rest: object) -> object:
            while acts:
                acts.pop()()
            return before(walk, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(walking.Walk, "_look_at", look_at)

    return plan


def test_a_file_that_goes_while_it_is_listed_is_gone(
    tmp_path: Path, meanwhile: Callable[[Callable[[], None]], None]
) -> None:
    write(tmp_path, "a.py", "b.py")
    meanwhile((tmp_path / "a.py").unlink)

    assert Lister().list(tmp_path) == Listing(("b.py",), complete=True)


def test_a_folder_that_is_swapped_while_it_is_listed_is_listed_again(
    tmp_path: Path, meanwhile: Callable[[Callable[[], None]], None]
) -> None:
    write(tmp_path, "old/a.py", "old/x/b.py", "new/a.py", "new/x/b.py")
    (tmp_path / "dags").symlink_to("old")

    def swap() -> None:
        (tmp_path / "next").symlink_to("new")
        (tmp_path / "next").rename(tmp_path / "dags")
        (tmp_path / "old" / "x" / "b.py").unlink()

    meanwhile(swap)

    assert Lister().list(tmp_path / "dags") == Listing(("a.py", "x/b.py"), complete=True)


def test_files_that_never_rest_make_the_listing_incomplete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.py")
    before = walking.Walk._status

    def go(walk: walking.Walk, entry: "os.DirEntry[str]", *rest: object) -> object:
        Path(entry.path).unlink()
        try:
            return before(walk, entry, *rest)  # type: ignore[arg-type]
        finally:
            write(tmp_path, "a.py")

    monkeypatch.setattr(walking.Walk, "_status", go)

    assert Lister().list(tmp_path) == Listing((), complete=False)


def test_a_walk_that_takes_for_ever_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.py", "b/c.py")
    monkeypatch.setattr(listing, "LONGEST", -1.0)

    assert not Lister().list(tmp_path).complete


class BusyClock(FakeClock):
    """A clock that is a millisecond on each time that somebody looks at it."""

    def monotonic(self) -> float:
        self.advance(0.001)
        return super().monotonic()


def test_one_folder_of_many_entries_is_given_up_as_well(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.txt").touch()
    clock = BusyClock()
    walk = walking.Walk(tmp_path, {}, clock, deadline=0.02)

    with pytest.raises(walking.LateError):
        list(walk.files())
    assert walk.late
    assert clock.monotonic() < 0.03


def test_all_tries_together_take_no_longer_than_one_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.py")
    clock = FakeClock()

    def go_slowly(walk: walking.Walk, *_: object) -> None:
        clock.advance(0.6 * listing.LONGEST)
        walk.changed = True

    monkeypatch.setattr(walking.Walk, "_status", go_slowly)

    assert not Lister(clock=clock).list(tmp_path).complete
    assert clock.monotonic() <= 2 * 0.6 * listing.LONGEST


def test_a_disk_that_is_slow_is_read_in_several_listings(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{folder}/{number}.py" for folder in "abc" for number in range(10)]
    write(tmp_path, *names)
    clock = FakeClock(datetime.now(UTC))
    lister = Lister(clock=clock)

    def read_slowly(path: Path, most: int) -> bytes | None:
        clock.advance(listing.LONGEST / 10)
        reads.append(path.name)
        return read_regular(path, most)

    monkeypatch.setattr(listing, "read_regular", read_slowly)
    listings = [lister.list(tmp_path) for _ in range(3)]

    assert [answer.complete for answer in listings] == [False, False, True]
    assert [len(answer.paths) for answer in listings] == [11, 22, 30]
    assert len(reads) == 30


def test_a_listing_that_ends_earlier_than_the_one_before_forgets_nothing(
    tmp_path: Path, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.py", "b.py")
    lister = Lister()
    lister.list(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(listing, "LONGEST", -1.0)
        lister.list(tmp_path)
    lister.list(tmp_path)

    assert reads == ["b.py", "a.py"]


def test_folders_that_lie_too_deep_are_left_out_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    deep = "a/" * walking.DEEPEST
    write(tmp_path, f"{deep}good.py", f"{deep}b/c.py")

    assert Lister().list(tmp_path) == Listing((f"{deep}good.py",), complete=True)
    assert "a/b: lies in 64 folders, and is left out" in caplog.text


def test_a_socket_is_no_file_and_no_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "good.py")
    monkeypatch.chdir(tmp_path)  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.py")

        assert Lister().list(tmp_path) == Listing(("good.py",), complete=True)


def test_a_package_is_one_dag_file(tmp_path: Path) -> None:
    for name, entry in {"dags.zip": "a.py", "data.zip": "a.csv", "x/lib.zip": "lib/a.py"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(tmp_path / name, "w") as package:
            package.writestr(entry, DAG)
    (tmp_path / "bad.zip").write_bytes(b"being copied")
    (tmp_path / "empty.zip").touch()

    assert Lister().list(tmp_path) == Listing(("bad.zip", "dags.zip"), complete=True)
