"""What becomes of a log when its worker is killed, and when its disk is full."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "logs"


def test_what_a_killed_worker_has_not_copied_the_next_one_copies(
    database_url: str, tmp_path: Path
) -> None:
    given = {
        "HEADWAY_LOGS_REMOTE": f"file://{tmp_path}/copies",
        "HEADWAY_LOGS_COPY_INTERVAL": "3600",
    }
    with service_cluster(database_url, tmp_path, given) as cluster:
        run = started(cluster, tmp_path)
        worker = cluster.member("worker-1")
        until(lambda: has_begun(run), "the first line")

        cluster.end(worker, signal.SIGKILL)
        assert not (tmp_path / "copies").exists()
        cluster.start("worker", 2)

        until(lambda: "attempt 1 has begun" in copied(tmp_path), "the copy")
        (tmp_path / "go1").touch()
        (tmp_path / "go2").touch()


def started(cluster: ServiceCluster, folder: Path, more: int = 0) -> StackRun:
    """Start the services with the DAGs, and a run of the task that waits."""
    for path in DAGS.glob("*.py"):
        (cluster.dags / path.name).write_text(path.read_text())
    for kind in ("parser", "scheduler", "worker"):
        cluster.start(kind)
    cluster.wait_for_version("takes_its_time")
    run = cluster.trigger("takes_its_time", {"folder": str(folder), "more": more})
    return run.wait_for_task("waits", "running")


def has_begun(run: StackRun) -> bool:
    try:
        return "attempt 1 has begun" in run.log("waits")
    except FileNotFoundError:
        return False


def copied(folder: Path) -> str:
    return "".join(path.read_text() for path in (folder / "copies").rglob("*attempt=1.log"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder for logs on a disk of its own, of half a megabyte."""
    logs = tmp_path / "home" / "logs"
    logs.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(logs)]
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(
            f"no disk may be mounted here ({done.stderr.strip()}); "
            "tests/unit/worker/logs/test_file.py has files that may not grow instead"
        )
    yield logs
    subprocess.run(["umount", str(logs)], check=True)


def test_on_a_full_disk_the_outcome_is_reported_and_the_log_says_what_is_missing(
    database_url: str, small_disk: Path, tmp_path: Path
) -> None:
    with service_cluster(database_url, tmp_path) as cluster:
        (tmp_path / "go2").touch()
        run = started(cluster, tmp_path, more=1000)
        until(lambda: has_begun(run), "the first line")
        fill(small_disk)
        (tmp_path / "go1").touch()
        state = run.wait().state
        worker_log = cluster.member("worker-1").logged()

    assert state == "success"
    assert [row.outcome for row in run.attempts("waits")] == ["failed", "success"]
    first = run.log_lines("waits")
    own = "\n".join(line.message for line in first if line.source == "headway")
    assert "bytes of this log could not be written: No space left on device" in own
    assert first[-1].outcome == "failed"
    assert "action=log_lost" in worker_log


def fill(disk: Path) -> None:
    """Write until nothing goes onto the disk any more."""
    with (disk / "filler").open("wb", buffering=0) as filler:
        for size in (4096, 1):
            with suppress(OSError):
                while filler.write(b"x" * size):
                    pass
