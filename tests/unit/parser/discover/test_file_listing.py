import os
from pathlib import Path

import pytest

from headway_parser.discover.listing import LARGEST, Lister, Listing

DAG = "from headway.sdk import DAG\n"


def write(root: Path, *names: str, content: str = DAG) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def test_files_are_found_wherever_they_lie_in_one_order(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a/z.py", "a/b/c.py", "a.py")

    assert Lister().list(tmp_path) == Listing(("a.py", "a/b/c.py", "a/z.py", "b.py"), complete=True)


def test_an_empty_folder_is_complete(tmp_path: Path) -> None:
    assert Lister().list(tmp_path) == Listing((), complete=True)


@pytest.mark.parametrize(
    "name",
    ["a.txt", "a.pyc", "a", ".a.py", ".git/a.py", "x/.venv/a.py", "__pycache__/a.py", ".py"],
)
def test_what_is_no_source_is_left_out(tmp_path: Path, name: str) -> None:
    write(tmp_path, name)

    assert Lister().list(tmp_path) == Listing((), complete=True)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("from headway.sdk import DAG", True),
        ("import HEADWAY  # a dag", True),
        ("import headway", False),
        ("@dag", False),
        ("", False),
    ],
)
def test_a_file_that_may_hold_a_dag_mentions_both_words(
    tmp_path: Path, content: str, found: bool
) -> None:
    write(tmp_path, "a.py", content=content)

    assert (Lister().list(tmp_path).paths == ("a.py",)) is found


def test_a_file_that_is_no_text_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"\xff\0dag headway\n")

    assert Lister().list(tmp_path).paths == ("a.py",)


def test_a_file_that_is_too_large_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    write(tmp_path, "fits.py", content=DAG + "#" * (LARGEST - len(DAG)))
    write(tmp_path, "huge.py", content="#" * (LARGEST + 1))
    with (tmp_path / "sparse.py").open("wb") as sparse:
        sparse.truncate(200 * 2**20)

    assert Lister().list(tmp_path).paths == ("fits.py", "huge.py", "sparse.py")


def test_links_are_followed_and_no_folder_is_entered_twice(tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "dags", tmp_path / "elsewhere"
    write(root, "a/b.py")
    write(elsewhere, "c.py")
    (root / "a/loop").symlink_to(root, target_is_directory=True)
    (root / "there").symlink_to(elsewhere, target_is_directory=True)
    (root / "too.py").symlink_to(elsewhere / "c.py")

    assert Lister().list(root) == Listing(("a/b.py", "there/c.py", "too.py"), complete=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_what_only_looks_like_a_file_is_left_out_and_blocks_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "dangling.py").symlink_to(tmp_path / "nowhere.py")
    write(tmp_path, "folder.py/inside.py")

    assert Lister().list(tmp_path) == Listing(("folder.py/inside.py",), complete=True)


@pytest.mark.parametrize("name", ["a\nb.py", "a\x1bb.py", "\udcff.py", "a\nb/c.py", "\udcff/c.py"])
def test_names_that_cannot_be_listed_or_stored_are_left_out(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, "good.py")

    assert Lister().list(tmp_path).paths == ("good.py",)


def test_a_folder_that_is_not_there_is_not_complete(tmp_path: Path) -> None:
    assert Lister().list(tmp_path / "nowhere") == Listing((), complete=False)


def test_a_link_that_leads_to_itself_is_no_file_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "good.py")
    (tmp_path / "itself.py").symlink_to(tmp_path / "itself.py")

    assert Lister().list(tmp_path) == Listing(("good.py",), complete=True)
    assert "itself.py: Too many levels of symbolic links" in caplog.text


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
@pytest.mark.parametrize("locked", ["folder", "folder/a.py"])
def test_what_cannot_be_read_makes_the_listing_incomplete(tmp_path: Path, locked: str) -> None:
    write(tmp_path, "good.py", "folder/a.py")
    (tmp_path / locked).chmod(0)

    listing = Lister().list(tmp_path)
    (tmp_path / locked).chmod(0o700)

    assert listing == Listing(("good.py",), complete=False)
