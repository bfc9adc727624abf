from datetime import UTC, datetime

import pytest

from headway.db.parsing.files import FileKey
from headway.db.parsing.versions import NewVersion
from headway.domain.dag.spec import DagSpec, TimetableSpec
from headway_parser.parse.answer import ParsedFile
from headway_parser.publish.pace import LONGEST_RETRY, SLOWNESS, SPREAD, ReparsePace
from headway_parser.publish.stored_parse import StoredParse

PACE = ReparsePace(dynamic=30, unchanged=3600)


def parse(
    *, seconds: float = 0.01, failures: int = 0, dynamic: bool = False, own: float | None = None
) -> StoredParse:
    spec = DagSpec(
        dag_id="d",
        relative_path="d.py",
        timetable=TimetableSpec(name="null"),
        timezone="UTC",
        tasks=(),
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        dynamic=dynamic,
        min_file_process_interval=own,
    )
    result = ParsedFile((NewVersion(spec, b"", "", ""),))
    return StoredParse(
        file=FileKey("dags", "d.py"),
        result=result,
        signature="",
        paths=[],
        seconds=seconds,
        failures=failures,
    )


def wait(made: StoredParse, *, changed: bool = False, failed: bool = False) -> float:
    """Return the wait without what spreads files over time."""
    found = PACE.due_in(made, changed=changed, failed=failed)
    return next(
        name for name in (10, 20, 30, 600, 3600, found) if name <= found <= name * (1 + SPREAD)
    )


def test_a_file_that_does_not_change_is_looked_at_seldom() -> None:
    assert wait(parse()) == 3600


def test_one_that_follows_something_else_is_looked_at_often() -> None:
    assert wait(parse(dynamic=True)) == 30
    assert wait(parse(dynamic=True, own=10)) == 10
    assert wait(parse(own=10)) == 10


def test_one_that_has_just_changed_is_looked_at_once_more() -> None:
    assert wait(parse(), changed=True) == 30


@pytest.mark.parametrize(("failures", "seconds"), [(0, 10), (1, 20), (6, 600), (5000, 600)])
def test_one_that_fails_is_tried_again_ever_later(failures: int, seconds: float) -> None:
    assert LONGEST_RETRY == 600
    assert wait(parse(failures=failures), failed=True) == seconds


def test_a_slow_one_is_left_alone_for_longer() -> None:
    assert wait(parse(seconds=50), failed=True) == SLOWNESS * 50
