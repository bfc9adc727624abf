"""The bundle's files that are stored with a version: what a DAG file may read, and no more."""

import errno
import os
from collections.abc import Collection
from pathlib import Path

import pytest

from headway.serialization.manifest import content_hash
from headway.testing.time.clock import FakeClock
from headway_parser.bundles import bundle_files
from headway_parser.bundles.bundle_files import BundleFiles, BundleReader
from headway_parser.discover import listing, walking
from headway_parser.discover.listing import Lister


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "dags"
    for name, content in {
        "dag.py": "dag",
        "conf/a.json": "a",
        "large.bin": "x" * 100,
        ".hidden/x": "x",
        "__pycache__/y.pyc": "y",
        "left/out.json": "z",
        ".headwayignore": "/left/\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    return folder


def found(root: Path, reader: BundleReader | None = None) -> BundleFiles:
    listing = Lister(safe_mode=False).list(root)
    return BundleFiles(root, listing.all_files, reader or BundleReader(FakeClock()), listing.gap)


def test_files_that_are_not_left_out(root: Path) -> None:
    assert found(root).files == {
        "dag.py": content_hash(b"dag"),
        "conf/a.json": content_hash(b"a"),
        "large.bin": content_hash(b"x" * 100),
    }


def test_a_link_that_leads_out_leads_to_nothing(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "linked").symlink_to(tmp_path / "secret")
    (root / "inside").symlink_to(root / "dag.py")

    files = found(root).files

    assert "linked" not in files
    assert files["inside"] == files["dag.py"]


def test_what_is_hidden_from_dag_files_is_not_read_for_them(root: Path) -> None:
    reader = BundleReader(FakeClock(), hidden=(root / "conf",))

    assert "conf/a.json" not in found(root, reader).files


@pytest.mark.parametrize("named", ["dags/../dags/conf", "linked/conf", "linked/../dags/conf"])
def test_what_is_hidden_is_hidden_by_whatever_name(root: Path, named: str) -> None:
    (root.parent / "linked").symlink_to(root)
    reader = BundleReader(FakeClock(), hidden=(root.parent / named,))

    assert set(found(root, reader).files) == {"dag.py", "large.bin"}


def test_a_link_to_what_is_hidden_leads_to_nothing(root: Path) -> None:
    (root / "inside").symlink_to(root / "conf" / "a.json")
    reader = BundleReader(FakeClock(), hidden=(root / "conf",))

    assert set(found(root, reader).files) == {"dag.py", "large.bin"}


@pytest.fixture
def without_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for macOS."""
    real = os.readlink

    def refuse(path: str) -> str:
        if str(path).startswith("/proc/"):
            raise FileNotFoundError(errno.ENOENT, path)
        return real(path)

    monkeypatch.setattr(os, "readlink", refuse)


@pytest.mark.regression
@pytest.mark.usefixtures("without_proc")
def test_files_are_stored_where_there_is_no_proc(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (root / "linked").symlink_to(tmp_path / "secret")
    reader = BundleReader(FakeClock(), hidden=(root / "conf", tmp_path / "home"))

    assert set(found(root, reader).files) == {"dag.py", "large.bin"}


@pytest.mark.usefixtures("without_proc")
def test_a_link_that_is_turned_while_it_is_read_leads_to_nothing(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("secret")
    bundle, real = found(root), os.open

    def turned(path: Path, *arguments: int) -> int:
        where = tmp_path / "secret" if Path(path).name == "a.json" else path
        return real(where, *arguments)

    monkeypatch.setattr(os, "open", turned)

    assert set(bundle.files) == {"dag.py", "large.bin"}


def test_what_another_account_may_not_read_is_not_read_for_it(root: Path) -> None:
    (root / "large.bin").chmod(0o600)
    (root / "conf").chmod(0o700)

    assert set(found(root, BundleReader(FakeClock(), as_other=True)).files) == {"dag.py"}


def test_the_largest_files_are_left_out_beyond_the_limit_and_that_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(bundle_files, "MOST_BYTES", 50)

    bundle = found(root)

    assert not bundle.seems_complete
    assert set(bundle.files) == {"dag.py", "conf/a.json"}
    assert "have more than 50 bytes" in bundle.gap
    assert "have more than 50 bytes" in caplog.text
    assert "large.bin" in caplog.text


def test_of_too_many_files_none_is_kept_and_that_is_said(
    root: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for module in (listing, walking):
        monkeypatch.setattr(module, "MOST_FILES", 2)

    bundle = found(root)

    assert bundle.files == {}
    assert "has more than 2 files" in bundle.gap
    assert "has more than 2 files" in caplog.text
    assert "headway_files" in caplog.text


def nothing_known(hashes: Collection[str]) -> Collection[str]:
    return hashes


def test_only_contents_that_nobody_has_stored_are_read(root: Path) -> None:
    files, contents = found(root).to_store(lambda _: [content_hash(b"a")])

    assert set(files) == {"dag.py", "conf/a.json", "large.bin"}
    assert contents == {content_hash(b"a"): b"a"}


def test_a_file_that_was_written_since_is_stored_as_it_is_now(root: Path) -> None:
    bundle = found(root)
    assert bundle.files["conf/a.json"] == content_hash(b"a")
    (root / "conf" / "a.json").write_text("later")
    (root / "large.bin").unlink()

    files, contents = bundle.to_store(nothing_known)

    assert set(files) == {"dag.py", "conf/a.json"}
    assert contents[files["conf/a.json"]] == b"later"
    assert set(contents) == set(files.values())


def test_a_file_that_is_known_is_not_read_again(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    clock.advance(60 * 60 * 24 * 365 * 100)
    reader = BundleReader(clock)
    first = found(root, reader).files
    monkeypatch.setattr(BundleReader, "read", lambda *_: pytest.fail("it was read again"))

    assert found(root, reader).files == first


def fail_to_open(monkeypatch: pytest.MonkeyPatch, name: str, number: int) -> None:
    """Let no file of that name be opened, for that reason."""
    real = os.open

    def refuse(path: Path, *arguments: int) -> int:
        if Path(path).name == name:
            raise OSError(number, os.strerror(number))
        return real(path, *arguments)

    monkeypatch.setattr(os, "open", refuse)


def test_nothing_is_missing_when_all_was_read(root: Path) -> None:
    bundle = found(root)
    bundle.to_store(nothing_known)

    assert bundle.seems_complete
    assert bundle.gap == ""


@pytest.mark.regression
def test_a_file_that_cannot_be_read_this_time_is_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = found(root)
    fail_to_open(monkeypatch, "a.json", errno.EIO)
    files, _ = bundle.to_store(nothing_known)

    assert set(files) == {"dag.py", "large.bin"}
    assert bundle.gap == f"{root}/conf/a.json: {os.strerror(errno.EIO)}"


def test_a_file_that_cannot_be_read_when_it_is_stored_is_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = found(root)
    assert len(bundle.files) == 3
    fail_to_open(monkeypatch, "a.json", errno.EMFILE)
    files, _ = bundle.to_store(nothing_known)

    assert set(files) == {"dag.py", "large.bin"}
    assert bundle.gap == f"{root}/conf/a.json: {os.strerror(errno.EMFILE)}"


def test_a_file_that_is_gone_or_private_is_not_missing(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = found(root)
    (root / "large.bin").unlink()
    fail_to_open(monkeypatch, "a.json", errno.EACCES)

    assert set(bundle.to_store(nothing_known)[0]) == {"dag.py"}
    assert bundle.gap == ""


def test_a_file_that_is_written_all_the_time_is_missing(root: Path) -> None:
    numbers = iter(range(100))

    def write(hashes: Collection[str]) -> Collection[str]:
        (root / "conf" / "a.json").write_text(f"another {next(numbers)}")
        return hashes

    bundle = found(root)
    files, _ = bundle.to_store(write)

    assert set(files) == {"dag.py", "large.bin"}
    assert bundle.gap == "conf/a.json changed each time that it was read"


@pytest.mark.regression
def test_what_a_listing_lacks_is_missing_from_the_bundle(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "LONGEST", -1.0)

    bundle = found(root)

    assert not bundle.seems_complete
    assert "takes more than" in bundle.gap
