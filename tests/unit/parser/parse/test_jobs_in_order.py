"""In which order files are parsed."""

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from headway.db.parsing.files import FileKey
from headway.runtime.settings.parser import SortMode
from headway_parser.parse.jobs import Job, ParseReason, in_order

TIMES = {"b.py": 3, "a.py": 1, "d.py": 4, "c.py": 2}
"""When each file was changed."""


@pytest.fixture
def jobs(tmp_path: Path) -> list[Job]:
    for name, time in TIMES.items():
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (time, time))
    return [job(tmp_path, name) for name in (*TIMES, "gone.py")]


def job(root: Path, name: str, reason: ParseReason = ParseReason.NEW) -> Job:
    return Job(key=FileKey("dags", name), root=root, reason=reason, seen="", hashes={})


def names(jobs: list[Job], mode: SortMode, seed: int = 0) -> str:
    return " ".join(
        ordered.key.path.removesuffix(".py") for ordered in in_order(jobs, mode, Random(seed))
    )


def test_what_was_changed_last_is_parsed_first(jobs: list[Job]) -> None:
    assert names(jobs, SortMode.MODIFIED_TIME) == "d b c a gone"


def test_of_one_time_the_name_decides(jobs: list[Job], tmp_path: Path) -> None:
    for name in TIMES:
        os.utime(tmp_path / name, (5, 5))
    assert names(jobs, SortMode.MODIFIED_TIME) == "a b c d gone"


def test_by_name(jobs: list[Job]) -> None:
    assert names(jobs, SortMode.ALPHABETICAL) == "a b c d gone"


def test_at_random_each_may_be_first_and_no_file_is_left_out(jobs: list[Job]) -> None:
    orders = [names(jobs, SortMode.RANDOM, seed).split() for seed in range(100)]
    assert Counter(order[0] for order in orders).keys() == {"a", "b", "c", "d", "gone"}
    assert all(sorted(order) == ["a", "b", "c", "d", "gone"] for order in orders)


@pytest.mark.parametrize("mode", SortMode)
def test_what_somebody_waits_for_comes_first(
    jobs: list[Job], tmp_path: Path, mode: SortMode
) -> None:
    requested = [job(tmp_path, f"{name}.py", ParseReason.REQUESTED) for name in ("y", "z")]

    assert set(names([*jobs, *requested], mode).split()[:2]) == {"y", "z"}
