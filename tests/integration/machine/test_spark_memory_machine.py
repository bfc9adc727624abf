"""A Java virtual machine that runs out of memory, or that the system kills for it."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL

import pytest

from headway.db.reads.run_views import RunView
from headway.testing.data.known import known
from headway.testing.services.machine import Machine
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parent / "dags" / "spark_memory"
PLACES = ("server", "driver", "submission")
LONG = 600.0
MOST_WANTED = "1000"
"""The highest score with which a process can tell the system to kill it before others."""


@dataclass(frozen=True)
class Scene:
    """Services, with a task that runs beside all others."""

    machine: Machine
    stack: Stack

    def trigger(self, folder: Path, how: str, *dag_ids: str) -> dict[str, StackRun]:
        """Begin a run of each of these DAGs, with a folder of its own."""
        runs: dict[str, StackRun] = {}
        for dag_id in dag_ids:
            (folder / dag_id).mkdir()
            params = {"folder": str(folder / dag_id), "how": how}
            runs[dag_id] = self.stack.trigger(dag_id, params)
        return runs

    def java(self) -> set[int]:
        """Return the Java virtual machines."""
        found = self.machine.processes()
        return {pid for pid in found if program(pid) == "java"}


def program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/exe").readlink().name
    except OSError:
        return ""


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    machine = Machine.new(tmp_path_factory.mktemp("memory"))
    with machine.standalone(DAGS) as (standalone, engine):
        stack = Stack(machine.home, DAGS, machine.environment, engine, standalone.process)
        for name in (*PLACES, "canary"):
            stack.wait_for_version(name)
        waiting = stack.trigger("canary", {"folder": str(machine.root)})
        until(waiting.attempts, "the canary's attempt", LONG)
        yield Scene(machine, stack)
        assert waiting.attempt("waits").phase == "running"
        (machine.root / "go").touch()
        assert ended(waiting).state == "success"
    machine.wait_until_idle(30)


def ended(run: StackRun) -> RunView:
    until(lambda: run.row.ended_at, f"the end of {run.dag_id}", LONG)
    return run.row


def both_attempts(runs: dict[str, StackRun]) -> dict[str, str]:
    """Wait for the end of all runs, whose second attempts succeed; return why the first failed."""
    errors: dict[str, str] = {}
    for dag_id, run in runs.items():
        assert ended(run).state == "success", run.attempts()
        first, second = run.attempts()
        assert (first.outcome, second.outcome) == ("failed", "success")
        errors[dag_id] = known(first.error)
    return errors


def test_a_heap_that_is_too_small_fails_the_attempt_which_is_tried_again(
    scene: Scene, tmp_path: Path
) -> None:
    told = both_attempts(scene.trigger(tmp_path, "heap", "server"))

    assert "The Spark Connect server does not answer" in told["server"]
    assert "or ran out of memory" in told["server"]


def test_a_driver_or_an_application_whose_heap_is_too_small_fails_its_attempt_too(
    scene: Scene, tmp_path: Path
) -> None:
    told = both_attempts(scene.trigger(tmp_path, "heap", "driver", "submission"))

    assert "The attempt's Spark driver ran out of memory, and exited with 52" in told["driver"]
    assert "application.py ran out of memory, and exited with 52" in told["submission"]


def test_a_machine_that_the_system_kills_fails_the_attempt_which_is_tried_again(
    scene: Scene, tmp_path: Path
) -> None:
    runs = scene.trigger(tmp_path, "killed", *PLACES)
    until(lambda: all((tmp_path / name / "begun").exists() for name in runs), "their work", LONG)
    machines = scene.java()

    scores = {pid: Path(f"/proc/{pid}/oom_score_adj").read_text().strip() for pid in machines}
    for pid in machines:
        os.kill(pid, SIGKILL)

    told = both_attempts(runs)
    assert sorted(scores.values()) == [MOST_WANTED] * 3
    assert "The Spark Connect server does not answer" in told["server"]
    killed = "was killed by SIGKILL (it may have run out of memory)"
    assert f"The attempt's Spark driver {killed}" in told["driver"]
    assert f"application.py {killed}" in told["submission"]
    until(lambda: len(scene.java()) == 1, "nothing left but the server")
