"""Drivers on the worker's own machine: how far they are while they run, and what they took."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.testing.services.machine import Machine
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parent / "dags" / "spark_drivers"
LONG = 300.0


@dataclass(frozen=True)
class Scene:
    """Services, and what their command line says of runs."""

    machine: Machine
    stack: Stack

    def tasks(self, run: StackRun) -> dict[str, dict[str, Any]]:
        """Return what `tasks list` says, by task, with its last attempt."""
        rows = self.asked("tasks", "list", run.dag_id, run.run_id)
        return {row["task_id"]: {**row, **row["attempts"][-1]} for row in rows if row["attempts"]}

    def asked(self, *command: str) -> Any:
        told = self.machine.run(*command, "-o", "json")
        assert told.returncode == 0, told.stderr
        return json.loads(told.stdout)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    machine = Machine.new(tmp_path_factory.mktemp("drivers"))
    with machine.standalone(DAGS) as (standalone, engine):
        stack = Stack(machine.home, DAGS, machine.environment, engine, standalone.process)
        for name in ("watched", "unseen"):
            stack.wait_for_version(name)
        yield Scene(machine, stack)


def ended(run: StackRun) -> StackRun:
    until(lambda: run.row.ended_at, f"the end of {run.dag_id}", LONG)
    assert set(run.states().values()) == {"success"}, run.attempts()
    return run


def test_drivers_are_watched_while_they_run_and_tell_what_they_took(
    scene: Scene, tmp_path: Path
) -> None:
    run = scene.stack.trigger("watched", {"folder": str(tmp_path)})

    def both_have_worked() -> bool:
        known = [task["progress"] for task in scene.tasks(run).values()]
        return len(known) == 2 and all(
            progress and progress["tasks_done"] >= 5 for progress in known
        )

    until(both_have_worked, "progress of both drivers", LONG)
    for task in scene.tasks(run).values():
        assert task["ended_at"] is None
        assert task["spark"].startswith(f"{task['progress']['tasks_done']}/")

    (tmp_path / "go").touch()
    ended(run)

    def figures() -> dict[str, Any] | None:
        found = {name: task["figures"] for name, task in scene.tasks(run).items()}
        return found if all(found.values()) else None

    found = until(figures, "the figures of both drivers", LONG)
    for each in found.values():
        assert each["tasks_failed"] == 0
        assert each["rows_written"] == 1000
        assert each["rows_read"] >= 1000
        assert min(each["bytes_written"], each["bytes_read"], each["executor_run_ms"]) > 0
    # One was asked, and the other one's log was read: both know of the last job.
    for name in ("jobs", "tasks", "rows_read", "rows_written", "peak_memory_bytes"):
        assert found["drives"][name] == found["submits"][name], name
    (cost,) = scene.asked("spark", "cost", "watched")
    assert (cost["attempts"], cost["unknown"], cost["rows_written"]) == (2, 0, 2000)


@pytest.mark.long
def test_what_a_driver_took_that_tells_nothing_is_unknown(scene: Scene, tmp_path: Path) -> None:
    run = ended(scene.stack.trigger("unseen", {"folder": str(tmp_path)}))
    until(lambda: scene.tasks(run)["logged"]["figures"], "the figures of one of them", LONG)

    told = scene.tasks(run)

    assert told["logged"]["progress"] is None
    assert told["logged"]["figures"]["rows_written"] == 1000
    unknown = told["unknown"]
    assert (unknown["progress"], unknown["figures"], unknown["spark"]) == (None, None, "unknown")
    (cost,) = scene.asked("spark", "cost", "unseen")
    assert (cost["attempts"], cost["unknown"]) == (2, 1)
