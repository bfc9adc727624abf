from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from headway.db.parsing.files import FileRow
from headway.testing.time.clock import FakeClock
from headway_parser import contents
from headway_parser.bundles.bundle_files import BundleReader
from headway_parser.bundles.source import BundlePlace
from headway_parser.contents import FileContents, Stamp, signature_of, stamp_of
from headway_parser.discover.bundle_state import (
    CONFIRMED_AFTER,
    EMPTY_FOR,
    MOST_REPEATS,
    BundleState,
)
from headway_parser.discover.listing import Lister, Listing
from headway_parser.parse.jobs import ParseReason

ME, OTHER = 1, 2
ROW = FileRow(
    signature="",
    paths=(),
    due=False,
    parse_requested=False,
    claimed=False,
    parser_id=ME,
    failures=0,
)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def state(clock: FakeClock) -> BundleState:
    lister, reader = Lister(safe_mode=False), BundleReader(clock)
    return BundleState("dags", ME, lister, FileContents(clock), "release", clock, reader)


def rows(*paths: str, parser: int = ME) -> dict[str, FileRow]:
    return {path: replace(ROW, parser_id=parser) for path in paths}


def gone(
    state: BundleState,
    there: Collection[str],
    *known: str,
    commit: str | None = None,
    complete: bool = True,
    others: Collection[int] = (),
    parser: int = ME,
) -> list[str] | None:
    listing = Listing(tuple(there), complete=complete)
    return state.gone(
        BundlePlace(Path("/dags"), commit), listing, rows(*known, parser=parser), others
    )


def test_a_file_that_a_whole_listing_lacks_is_gone(state: BundleState) -> None:
    assert gone(state, ["a", "b"], "a", "b") == []
    assert gone(state, ["a", "b"], "a", "b", "c") == ["c"]


def test_an_empty_folder_proves_nothing(state: BundleState) -> None:
    assert gone(state, [], "a") is None
    assert gone(state, [], "a", commit="c0ffee") == ["a"]


def test_a_listing_with_holes_proves_nothing(state: BundleState) -> None:
    assert gone(state, ["a"], "a", "b", complete=False) is None


def test_a_large_loss_must_last(state: BundleState, clock: FakeClock) -> None:
    known = ["a", "b", "c", "d"]
    assert gone(state, ["a"], *known) == []
    clock.advance(CONFIRMED_AFTER - 1)
    assert gone(state, ["a"], *known) == []
    clock.advance(1)
    assert gone(state, ["a"], *known) == ["b", "c", "d"]


def test_a_half_is_a_large_loss_and_one_file_never_is(state: BundleState) -> None:
    assert gone(state, ["a", "b"], "a", "b", "c", "d") == []
    assert gone(state, ["a", "b"], "a", "b") == []
    assert gone(state, ["a", "b", "c"], "a", "b", "c", "d", "e") == ["d", "e"]
    assert gone(state, ["a"], "a", "b") == ["b"]


def test_what_is_left_of_a_large_loss_must_last_as_well(
    state: BundleState, clock: FakeClock
) -> None:
    """Files that come back, from a copy or a mount, do so one after the other."""
    known = ["a", "b", "c", "d"]
    for before in ([], ["a"]):
        gone(state, before, *known)
        clock.advance(CONFIRMED_AFTER - 1)
        assert gone(state, ["a", "b", "c"], *known) == []
        clock.advance(CONFIRMED_AFTER - 1)
        assert gone(state, ["a", "b", "c"], *known) == []
        clock.advance(1)
        assert gone(state, ["a", "b", "c"], *known) == ["d"]
        assert gone(state, known, *known) == []


def test_what_could_not_be_listed_is_no_evidence_for_later(
    state: BundleState, clock: FakeClock
) -> None:
    known = ["a", "b", "c"]
    assert gone(state, ["a"], *known, complete=False) is None
    clock.advance(CONFIRMED_AFTER)
    assert gone(state, ["a"], *known) == []


def test_a_large_loss_that_changes_is_another_one(state: BundleState, clock: FakeClock) -> None:
    known = ["a", "b", "c", "d", "e"]
    gone(state, ["a"], *known)
    clock.advance(CONFIRMED_AFTER)
    assert gone(state, ["a", "b"], *known) == []
    gone(state, known, *known)
    clock.advance(CONFIRMED_AFTER)
    assert gone(state, ["a", "b"], *known) == []


def test_a_commit_says_what_it_has_whatever_is_lost(state: BundleState) -> None:
    assert gone(state, ["a"], "a", "b", "c", "d", commit="c0ffee") == ["b", "c", "d"]


def test_a_checkout_that_has_lost_files_proves_nothing(state: BundleState) -> None:
    assert gone(state, ["a", "b"], "a", "b", commit="c0ffee") == []
    assert gone(state, ["a"], "a", "b", commit="c0ffee") is None
    assert gone(state, [], "a", "b", commit="c0ffee") is None
    assert gone(state, ["a"], "a", "b", commit="next") == ["b"]


def test_what_another_parser_had_last_is_its_own_to_miss(state: BundleState) -> None:
    assert gone(state, ["a"], "a", "b", parser=OTHER, others=[OTHER]) == []
    assert gone(state, ["a"], "a", "b", parser=OTHER) == ["b"]


def test_a_file_that_is_emptied_for_a_moment_is_not_gone(
    state: BundleState, clock: FakeClock, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("")
    place, listing = BundlePlace(tmp_path), Listing(("b.py",), complete=True)
    stored = rows("a.py", "b.py")

    assert state.gone(place, listing, stored, ()) == []
    clock.advance(EMPTY_FOR - 1)
    assert state.gone(place, listing, stored, ()) == []
    clock.advance(1)
    assert state.gone(place, listing, stored, ()) == ["a.py"]


def test_the_time_for_which_a_file_is_empty_begins_anew(
    state: BundleState, clock: FakeClock, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("")
    place, stored = BundlePlace(tmp_path), rows("a.py", "b.py")
    state.gone(place, Listing(("b.py",), complete=True), stored, ())
    state.gone(place, Listing(("a.py", "b.py"), complete=True), stored, ())
    clock.advance(EMPTY_FOR)

    assert state.gone(place, Listing(("b.py",), complete=True), stored, ()) == []


def test_an_empty_folder_in_the_bundle_proves_nothing_of_what_was_never_seen_there(
    state: BundleState, tmp_path: Path
) -> None:
    """The parser was started while a volume is not mounted, of which the mount point is there."""
    (tmp_path / "team").mkdir()
    known = [f"{name}.py" for name in ("b", "c", "d", "e")]
    place, stored = BundlePlace(tmp_path), rows(*known, "team/sub/a.py")
    for path in known:
        (tmp_path / path).write_text("dag")

    assert state.gone(place, state.listed(place), stored, ()) is None
    (tmp_path / "team").rmdir()
    assert state.gone(place, state.listed(place), stored, ()) == ["team/sub/a.py"]


def test_the_last_file_of_a_folder_is_gone_for_who_has_seen_it(
    state: BundleState, tmp_path: Path
) -> None:
    (tmp_path / "team").mkdir()
    paths = ("team/a.py", "b.py", "c.py")
    for path in paths:
        (tmp_path / path).write_text("dag")
    stored = {path: stored_as(state, tmp_path, path) for path in paths}
    assert reasons(state, tmp_path, stored) == {}

    (tmp_path / "team/a.py").unlink()
    place = BundlePlace(tmp_path)
    assert state.gone(place, state.listed(place), stored, ()) == ["team/a.py"]


def reasons(
    state: BundleState, root: Path, stored: dict[str, FileRow], **wanted: int
) -> dict[str, ParseReason]:
    place = BundlePlace(root)
    runs = {f"{name}.py": (run,) for name, run in wanted.items()}
    listing = state.listed(place)
    return {job.key.path: job.reason for job in state.jobs(place, listing, stored, {OTHER}, runs)}


def stored_as(state: BundleState, root: Path, *paths: str) -> FileRow:
    """Return the row of a file that has read these, as they are now."""
    return replace(
        ROW,
        signature=signature_of(
            {path: state.contents.hash(root / path) for path in paths}, state.release
        ),
        paths=paths,
        parser_id=OTHER,
    )


def test_a_file_is_parsed_when_what_it_read_has_changed(state: BundleState, tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "a.py").write_text("dag")
    (tmp_path / "lib" / "sql").write_text("1")
    stored = {"a.py": stored_as(state, tmp_path, "a.py", "lib/sql", "lib/none")}
    assert reasons(state, tmp_path, stored) == {}

    (tmp_path / "lib" / "none").write_text("there now")
    assert reasons(state, tmp_path, stored) == {"a.py": ParseReason.CHANGED}
    (tmp_path / "lib" / "none").unlink()
    (tmp_path / "lib" / "sql").write_text("2")
    assert reasons(state, tmp_path, stored) == {"a.py": ParseReason.CHANGED}


def test_what_many_files_have_imported_is_looked_at_once(
    state: BundleState, tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a.py", "b.py", "c.py", "helper"):
        (tmp_path / path).write_text("dag")
    stored = {path: stored_as(state, tmp_path, path, "helper") for path in ("a.py", "b.py", "c.py")}
    assert reasons(state, tmp_path, stored) == {}
    clock.advance(tmp_path.stat().st_ctime + 10 - clock.now().timestamp())
    assert reasons(state, tmp_path, stored) == {}  # from now on they are known by their stamps
    looked_at: list[str] = []

    def look(file: Path) -> Stamp | None:
        looked_at.append(file.name)
        return stamp_of(file)

    monkeypatch.setattr(contents, "stamp_of", look)

    assert reasons(state, tmp_path, stored) == {}
    assert looked_at == ["helper"]  # the listing has told of the others


def test_what_was_found_stored_counts_as_parsed(state: BundleState, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("dag")
    stored = {"a.py": stored_as(state, tmp_path, "a.py")}
    assert reasons(state, tmp_path, stored) == {}

    stored["a.py"] = replace(stored["a.py"], signature="what another parser sees")
    assert reasons(state, tmp_path, stored) == {}


def test_two_that_see_different_files_do_not_correct_each_other(
    state: BundleState, tmp_path: Path
) -> None:
    """The other parser has stored what it sees, which reads a file that is not even here."""
    (tmp_path / "a.py").write_text("dag")
    stored = {"a.py": stored_as(state, tmp_path, "a.py")}
    reasons(state, tmp_path, stored)
    other = replace(stored["a.py"], signature="other", paths=("a.py", "lib/new"))

    assert reasons(state, tmp_path, {"a.py": other}) == {}
    (tmp_path / "a.py").write_text("edited")
    assert reasons(state, tmp_path, {"a.py": other}) == {"a.py": ParseReason.CHANGED}


def test_a_file_that_claims_to_have_read_what_nobody_has_is_not_parsed_for_ever(
    state: BundleState, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("dag")
    parsed = 0
    for number in range(10):
        name = f"lib/{number}"
        stored = {"a.py": replace(ROW, signature="lies", paths=("a.py", name))}
        if reasons(state, tmp_path, stored):
            parsed += 1
            here = {path: state.contents.hash(tmp_path / path) for path in ("a.py", name)}
            state.note_parse("a.py", {"a.py": here["a.py"], name: "lies"}, here)
    assert parsed == MOST_REPEATS

    (tmp_path / "a.py").write_text("edited")
    assert reasons(state, tmp_path, stored) == {"a.py": ParseReason.CHANGED}


def test_a_file_that_a_run_waits_for_is_parsed_though_nothing_has_changed(
    state: BundleState, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("dag")
    stored = {"a.py": stored_as(state, tmp_path, "a.py")}

    assert reasons(state, tmp_path, stored, a=5) == {"a.py": ParseReason.REQUESTED}
    stored["a.py"] = replace(stored["a.py"], claimed=True)
    assert reasons(state, tmp_path, stored, a=5) == {}
