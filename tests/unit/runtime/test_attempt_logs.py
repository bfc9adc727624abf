import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.runtime.attempt_logs import LogKey, logs_folder

FOLDER = Path("/var/headway/logs")
IDS = st.text(min_size=1, max_size=250) | st.sampled_from(
    ["..", ".", "/", "../../etc", "a/../../..", "\0", "~", "map_index=0", "run_id=x", "x" * 250]
)


def key(dag_id: str = "d", run_id: str = "r", task_id: str = "t") -> LogKey:
    return LogKey(dag_id, run_id, task_id, -1, 1)


def test_a_person_can_find_a_log() -> None:
    run_id = "scheduled__2013-01-01T05:00:00+00:00"

    assert LogKey("flights", run_id, "land", -1, 2).path(FOLDER) == (
        FOLDER / "dag_id=flights" / f"run_id={run_id}" / "task_id=land" / "map_index=-1"
    ) / Path("attempt=2.log")


@given(IDS, IDS, IDS)
def test_no_id_leads_out_of_the_folder(dag_id: str, run_id: str, task_id: str) -> None:
    path = key(dag_id, run_id, task_id).path(FOLDER)

    below = Path(os.path.normpath(path)).relative_to(FOLDER)
    assert len(below.parts) == 5
    assert "\0" not in str(path)


@given(IDS, IDS)
def test_every_segment_is_a_name_that_file_systems_take(dag_id: str, task_id: str) -> None:
    for segment in key(dag_id, task_id=task_id).path(FOLDER).parts:
        assert len(segment.encode()) <= 255


@given(st.tuples(IDS, IDS, IDS), st.tuples(IDS, IDS, IDS))
def test_two_attempts_never_share_a_log(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (key(*one).path(FOLDER) == key(*other).path(FOLDER)) is (one == other)


@pytest.mark.parametrize("ending", ["a", "b"])
def test_long_ids_that_begin_alike_are_told_apart(ending: str) -> None:
    long = "ä" * 249 + ending

    assert key(long).path(FOLDER) != key("ä" * 249 + "c").path(FOLDER)
    assert key(long).path(FOLDER) == key(long).path(FOLDER)


def test_logs_lie_in_the_home() -> None:
    assert logs_folder(Path("/home")) == Path("/home/logs")
