"""Files whose versions lack files of the bundle are parsed again once all of these are known."""

from dataclasses import replace
from pathlib import Path

import pytest

from headway.db.parsing.files import FileRow
from headway.testing.time.clock import FakeClock
from headway_parser.bundles import bundle_files
from headway_parser.bundles.bundle_files import BundleReader
from headway_parser.bundles.source import BundlePlace
from headway_parser.contents import FileContents, signature_of
from headway_parser.discover import listing
from headway_parser.discover.bundle_state import COMPLETED_AFTER, BundleState
from headway_parser.discover.listing import Lister
from headway_parser.parse.jobs import ParseReason


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def state(clock: FakeClock) -> BundleState:
    lister, reader = Lister(safe_mode=False), BundleReader(clock)
    return BundleState("dags", 1, lister, FileContents(clock), "release", clock, reader)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text("dag")
    (tmp_path / "data.csv").write_text("1,2")
    return tmp_path


def reasons(state: BundleState, root: Path, **different: object) -> dict[str, ParseReason]:
    """Return why the file is parsed, which has not changed, and whose version lacks files."""
    signature = signature_of({"a.py": state.contents.hash(root / "a.py")}, state.release)
    row = FileRow(signature, ("a.py",), False, False, False, 1, 0, True)
    rows, place = {"a.py": replace(row, **different)}, BundlePlace(root)  # type: ignore[arg-type]
    jobs = state.jobs(place, state.listed(place), rows, (), {})
    return {job.key.path: job.reason for job in jobs}


@pytest.mark.regression
def test_a_file_is_parsed_again_when_the_listing_has_become_complete(
    state: BundleState, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(listing, "LONGEST", -1.0)
        assert reasons(state, root) == {}

    assert reasons(state, root) == {"a.py": ParseReason.INCOMPLETE}


@pytest.mark.parametrize(
    ("module", "limit"), [(listing, "MOST_FILES"), (bundle_files, "MOST_BYTES")]
)
def test_beyond_a_limit_no_file_is_parsed_again(
    state: BundleState, root: Path, monkeypatch: pytest.MonkeyPatch, module: object, limit: str
) -> None:
    monkeypatch.setattr(module, limit, 1)

    assert reasons(state, root) == {}


def test_a_file_whose_versions_are_complete_is_left_alone(state: BundleState, root: Path) -> None:
    assert reasons(state, root, incomplete=False) == {}


def test_a_file_that_fails_or_is_parsed_already_is_left_alone(
    state: BundleState, root: Path
) -> None:
    assert reasons(state, root, failures=1) == {}
    assert reasons(state, root, claimed=True) == {"a.py": ParseReason.ABANDONED}


def test_what_is_still_incomplete_is_tried_again_after_a_while(
    state: BundleState, root: Path, clock: FakeClock
) -> None:
    state.note_parse("a.py", {}, {})
    assert reasons(state, root) == {}
    clock.advance(COMPLETED_AFTER)
    assert reasons(state, root) == {"a.py": ParseReason.INCOMPLETE}
