"""What the guide says of timetables: its examples work, and its table of gaps and folds is true."""

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from headway import sdk
from headway.sdk.harness.loading import load_dag_file
from headway.timetables import registry
from headway.timetables.base import TimeRestriction, Timetable
from headway.timetables.expression import NAMES, read
from headway.timetables.sequence import runs_from
from headway.timetables.wall_clock.zones import find_zone

GUIDE = (Path(__file__).parents[3] / "docs" / "timetables.md").read_text()
NEW_YORK = "America/New_York"
ZONE = find_zone(NEW_YORK)
ROW = re.compile(r"\| (`.*?) \| (\d.*?) \| (\d.*?) \| (\d.*?) \|")
ROWS = [found for line in GUIDE.splitlines() if (found := ROW.fullmatch(line))]
PYTHON = {"timedelta(hours=6)": "PT6H", "timedelta(days=1)": "PT24H", '"P1D"': "P1D"}
"""How the user types what is a Python object in a DAG file."""

DAYS = ("2026-05-05", "2026-03-08", "2026-11-01")
"""An ordinary day, that of the gap, and that of the fold."""


def timetable_of(schedule: str) -> Timetable:
    return read(PYTHON.get(schedule, schedule), NEW_YORK)


def count(timetable: Timetable, day: str) -> tuple[int, timedelta]:
    """Return how many intervals start on a day, and how long the last of them is."""
    midnight = datetime.fromisoformat(day).replace(tzinfo=ZONE)
    ends = midnight + timedelta(days=1)
    start = datetime(2026, 1, 1, tzinfo=ZONE)
    found = []
    for info in runs_from(timetable, TimeRestriction(start, None, catchup=True), midnight):
        if info.data_interval.start.astimezone(ZONE).date() >= ends.date():
            break
        found.append(info.data_interval)
    return len(found), found[-1].end - found[-1].start


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[1])
def test_the_table_of_gaps_and_folds(row: re.Match[str]) -> None:
    for schedule in re.findall(r"`([^`]*)`", row[1]):
        for day, told in zip(DAYS, row.groups()[1:], strict=True):
            numbers = {int(number) for number in re.findall(r"\d+", re.split("[:,]", told)[0])}
            number, length = count(timetable_of(schedule), day)
            assert number in numbers, f"{schedule} on {day}"
            for hours in re.findall(r"over (\d+) hours", told):
                assert length == timedelta(hours=int(hours)), f"{schedule} on {day}"


def test_the_table_was_found() -> None:
    assert len(ROWS) >= 15


@pytest.mark.parametrize("source", re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL))
def test_an_example_is_a_dag(source: str, tmp_path: Path) -> None:
    (tmp_path / "example.py").write_text(source)
    (dag,) = load_dag_file(tmp_path / "example.py", tmp_path)

    assert registry.decode(dag.spec.timetable)


@pytest.mark.parametrize(
    "text", re.findall(r"headway timetable preview (?:'(.*)'|\"(.*)\") -", GUIDE), ids=str
)
def test_what_is_typed_is_read(text: tuple[str, str]) -> None:
    assert read("".join(text), NEW_YORK)


def test_every_timetable_is_in_the_guide() -> None:
    said = set(re.findall(r"[A-Za-z]+", GUIDE))

    assert NAMES.keys() - said == set()


def test_what_can_be_typed_can_be_imported() -> None:
    assert all(getattr(sdk, name) is NAMES[name] for name in NAMES)
