"""Which attempts have processes: read from a folder that looks like Linux's /proc."""

from pathlib import Path
from threading import Event

import pytest

from headway.testing.processes.live_attempts import LiveAttempts, live_attempts

GONE = "x" * 1000
"""The end of a link that cannot be followed, as that of a process that ends at the moment."""


def process(proc: Path, pid: int, folder: Path | str) -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "cwd").symlink_to(folder)


def test_attempts_are_named_by_the_folders_their_processes_work_in(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    process(tmp_path / "proc", 10, scratch / "worker-1" / "7-1")
    process(tmp_path / "proc", 11, scratch / "worker-2" / "7-2 (deleted)")
    process(tmp_path / "proc", 12, scratch / "worker-2" / "callbacks")
    process(tmp_path / "proc", 13, scratch / "worker-2")
    process(tmp_path / "proc", 14, "/")
    (tmp_path / "proc" / "meminfo").touch()

    assert live_attempts(scratch, tmp_path / "proc") == {(7, 1), (7, 2)}


def test_processes_that_end_hide_no_others(tmp_path: Path) -> None:
    scratch, proc = tmp_path / "scratch", tmp_path / "proc"
    for pid in range(10, 20):
        process(proc, pid, GONE if pid % 2 else scratch / "worker-1" / f"{pid}-1")

    assert live_attempts(scratch, proc) == {(pid, 1) for pid in range(10, 20, 2)}


def test_a_record_that_broke_off_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = Event()

    def breaks(_: LiveAttempts) -> None:
        looked.set()
        raise LookupError("it broke off")

    monkeypatch.setattr(LiveAttempts, "look", breaks)

    with pytest.raises(LookupError, match="it broke off"), LiveAttempts.recorded(tmp_path):
        assert looked.wait(60)
