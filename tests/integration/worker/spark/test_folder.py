"""A worker's folders: there for as long as the worker lives, and no longer."""

import subprocess
import sys
from pathlib import Path

from headway_worker.supervision.own_folder import own_folder
from headway_worker.supervision.scratch import scratch_of_worker

OWNER = """
import sys
from pathlib import Path
from headway_worker.supervision.own_folder import own_folder
with own_folder(Path(sys.argv[1]), 7) as folder:
    print(folder, flush=True)
    input()
"""


def test_what_a_dead_worker_had_written_is_removed_and_a_living_ones_is_not(tmp_path: Path) -> None:
    parent = tmp_path / "spark"
    living, dead = (
        subprocess.Popen(
            [sys.executable, "-c", OWNER, str(parent)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    )
    folders = []
    for process in (living, dead):
        assert process.stdout is not None
        folders.append(Path(process.stdout.readline().strip()))
        (folders[-1] / "1" / "local").mkdir(parents=True)
    unlocked = parent / "6-abcdefg_"  # one that was being removed when its remover died
    unlocked.mkdir()
    other = parent / "12-1"
    other.mkdir()
    dead.kill()
    dead.communicate()

    with own_folder(parent, 7) as own:
        assert sorted(parent.iterdir()) == sorted([folders[0], own, other])
        assert (folders[0] / "1" / "local").is_dir()
    assert own.is_dir()  # its logs can be read until a worker starts
    living.kill()
    living.communicate()


def test_a_worker_that_has_ended_well_leaves_nothing_for_the_next(tmp_path: Path) -> None:
    with own_folder(tmp_path, 1) as first:
        pass

    with own_folder(tmp_path, 1) as second:
        assert not first.exists()
        assert second.is_dir()
        assert second.stat().st_mode & 0o777 == 0o700


def test_the_folder_of_attempts_goes_with_its_worker(tmp_path: Path) -> None:
    with scratch_of_worker(tmp_path / "scratch", 1) as folder:
        (folder / "12-1").mkdir()

    assert list((tmp_path / "scratch").iterdir()) == []
