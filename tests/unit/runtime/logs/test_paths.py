import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.runtime.logs.paths import (
    CallbackLogKey,
    LogKey,
    create_log,
    logs_folder,
    open_log,
    run_of,
)

FOLDER = Path("/var/headway/logs")
IDS = st.text(min_size=1, max_size=250) | st.sampled_from(
    ["..", ".", "/", "../../etc", "a/../../..", "\0", "~", "map_index=0", "run_id=x", "x" * 250]
)


def key(dag_id: str = "d", run_id: str = "r", task_id: str = "t") -> LogKey:
    return LogKey(dag_id, run_id, task_id, -1, 1)


def test_a_person_can_find_a_log() -> None:
    run_id = "scheduled__2013-01-01T05:00:00+00:00"

    assert LogKey("flights", run_id, "land", -1, 2).relative == (
        Path("dag_id=flights") / f"run_id={run_id},task_id=land,map_index=-1,attempt=2.log"
    )


@given(IDS, IDS, IDS)
def test_no_id_leads_out_of_the_folder(dag_id: str, run_id: str, task_id: str) -> None:
    path = FOLDER / key(dag_id, run_id, task_id).relative

    below = Path(os.path.normpath(path)).relative_to(FOLDER)
    assert len(below.parts) == 2
    assert "\0" not in str(path)


@given(IDS, IDS)
def test_every_segment_is_a_name_that_file_systems_take(dag_id: str, task_id: str) -> None:
    for segment in key(dag_id, task_id=task_id).relative.parts:
        assert len(segment.encode()) <= 255


@given(st.tuples(IDS, IDS, IDS), st.tuples(IDS, IDS, IDS))
def test_two_attempts_never_share_a_log(
    one: tuple[str, str, str], other: tuple[str, str, str]
) -> None:
    assert (key(*one).relative == key(*other).relative) is (one == other)


@pytest.mark.parametrize("ending", ["a", "b"])
def test_long_ids_that_begin_alike_are_told_apart(ending: str) -> None:
    long = "ä" * 249 + ending

    assert key(long).relative != key("ä" * 249 + "c").relative
    assert key(long).relative == key(long).relative


def test_each_try_of_a_callback_has_a_log_of_its_own() -> None:
    """Several workers may have tried, and copies of their logs must not take each other's place."""
    logs = [CallbackLogKey("flights", "r", 17, number).relative for number in (1, 2)]

    folder = Path("dag_id=flights")
    assert logs == [folder / f"run_id=r,callback=17,try={number}.log" for number in (1, 2)]


@given(IDS, IDS, IDS)
def test_a_log_tells_of_which_run_it_is_unless_an_id_was_cut(
    dag_id: str, run_id: str, task_id: str
) -> None:
    its = key(dag_id, run_id, task_id)
    callback = CallbackLogKey(dag_id, run_id, 1, 1)

    for path in (its.relative, its.former, callback.relative, callback.former):
        assert run_of(path) in ((dag_id, run_id), None)
    if len(dag_id + run_id) < 7:  # a character takes up to 12 in a name, a run up to 80
        assert run_of(its.relative) == run_of(its.former) == (dag_id, run_id)


@pytest.mark.parametrize("path", ["x.log", "dag_id=d", "etc/run_id=r,task_id=t", "dag_id=d/x"])
def test_what_is_no_log_is_of_no_run(path: str) -> None:
    assert run_of(Path(path)) is None


def test_an_empty_task_leaves_one_block(tmp_path: Path) -> None:
    def used() -> int:
        return sum(path.stat().st_blocks for path in tmp_path.rglob("*")) * 512

    def write(name: LogKey) -> None:
        with os.fdopen(create_log(tmp_path, name.relative), "wb") as file:
            file.write(b'{"message":"success: done."}')
        os.sync()

    write(key(run_id="scheduled__2013-01-01T05:00:00+00:00"))
    before = used()
    write(key(run_id="scheduled__2013-01-02T05:00:00+00:00"))

    assert used() - before <= 4096


def test_logs_lie_in_the_home() -> None:
    assert logs_folder(Path("/home")) == Path("/home/logs")


def read(folder: Path, relative: Path) -> bytes:
    with os.fdopen(open_log(folder, relative), "rb") as file:
        return file.read()


def test_a_log_is_made_with_its_folders(tmp_path: Path) -> None:
    relative = key().relative
    with os.fdopen(create_log(tmp_path, relative), "wb") as file:
        file.write(b"x")

    assert read(tmp_path, relative) == b"x"


@pytest.mark.parametrize("relative", ["/etc/passwd", "../secret", "a/../../secret"])
def test_no_path_leads_out_of_the_folder(tmp_path: Path, relative: str) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "logs" / "a").mkdir(parents=True)

    with pytest.raises(ValueError, match="no path below"):
        open_log(tmp_path / "logs", Path(relative))


@pytest.mark.parametrize("linked", ["dag_id=d", "dag_id=d/run_id=r", "dag_id=d/run_id=r/log"])
def test_no_link_that_a_task_has_left_is_followed(tmp_path: Path, linked: str) -> None:
    secrets = tmp_path / "secrets"
    (secrets / "run_id=r").mkdir(parents=True)
    for path in (secrets / "log", secrets / "run_id=r" / "log"):
        path.write_text("secret")
    link = tmp_path / "logs" / linked
    link.parent.mkdir(parents=True)
    link.symlink_to(secrets / "log" if link.name == "log" else secrets)
    relative = Path(linked) if link.name == "log" else Path("dag_id=d/run_id=r/log")
    if linked == "dag_id=d/run_id=r":
        assert (tmp_path / "logs" / relative).read_text() == "secret", "the link leads there"

    with pytest.raises(OSError, match=r"symbolic links|Not a directory"):
        open_log(tmp_path / "logs", relative)


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "log")

    for use in (open_log, create_log):
        with pytest.raises(OSError, match="no regular file"):
            use(tmp_path, Path("log"))
