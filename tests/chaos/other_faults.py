"""Faults that end no process: a wrong clock, users, a DAG file that changes, a lost answer."""

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy import text
from tests.chaos.fault_series import Steps, Timer
from tests.chaos.scene import Scene
from tests.chaos.services import Service

from headway.runtime.daemon.clock import Clock

RUNNING: Final = text("""
    SELECT run.dag_id, run.run_id, task.task_id
      FROM task_instance AS task JOIN dag_run AS run ON run.id = task.dag_run_id
     WHERE task.state = 'running' AND task.map_index = -1 AND run.dag_id <> 'asked'
     ORDER BY task.id
""")
"""What runs, but the runs that clients of the API change: they know what becomes of these."""

VERSIONS: Final = text("SELECT max(number) FROM dag_version")

SMALL_SKEW: Final = 45.0
"""Seconds that are within a scheduler's default bound: it goes on scheduling."""

_SKEWED_SECONDS: Final = 20.0
_STARTED_WITHIN: Final = 30.0
_DONE_WITHIN: Final = 60.0


@dataclass(slots=True)
class OtherFaults:
    """Shift a scheduler's clock, clear and cancel what runs, edit the DAG file, lose an answer."""

    scene: Scene
    timer: Timer
    random: Random
    clock: Clock
    dag_file: Path
    skew: float
    edits: int = field(default=0)

    def shift_clock(self) -> Steps:
        """Have a scheduler run with another clock for a while."""
        service = self.scene.service(self.random.choice(["scheduler-1", "scheduler-2"]))
        offset = self.random.choice([self.skew, -self.skew, min(self.skew, SMALL_SKEW)])
        right, lines = service.environment, len(service.lines())
        yield from self._restart(service, {**right, **faked(offset)})
        said = yield from self.timer.until(lambda: len(service.lines()) > lines, _STARTED_WITHIN)
        seen = said and abs(self._difference(service) - offset) < abs(offset) / 2
        yield from self.timer.wait(_SKEWED_SECONDS)
        yield from self._restart(service, right)
        return seen

    def clear_running(self) -> Steps:
        """Clear a task that runs."""
        return (yield from self._intervene("tasks", "clear"))

    def cancel_run(self) -> Steps:
        """Cancel a run one of whose tasks runs."""
        return (yield from self._intervene("runs", "cancel"))

    def edit(self) -> Steps:
        """Change the DAG file, and wait for new versions."""
        before = self.scene.scalar(VERSIONS) or 0
        self.edits += 1
        with self.dag_file.open("a") as file:
            file.write(f"EDIT = {self.edits}\n")
        return (
            yield from self.timer.until(
                lambda: (self.scene.scalar(VERSIONS) or 0) > before, _DONE_WITHIN
            )
        )

    def lose_answer(self) -> Steps:
        """Take the next message of a missed deadline, and break off before it is answered."""
        receiver = self.scene.receiver
        before = receiver.lost
        receiver.lose_next()
        lost = yield from self.timer.until(lambda: receiver.lost > before, _DONE_WITHIN)
        receiver.lose_next(False)
        return lost

    def _intervene(self, group: str, verb: str) -> Steps:
        rows = self.scene.rows(RUNNING)
        if not rows:
            return False
        dag_id, run_id, task_id = self.random.choice(rows)
        self.scene.touched.add((dag_id, run_id))
        task = [task_id] if group == "tasks" else []
        command = subprocess.Popen(
            [sys.executable, "-m", "headway.cli", group, verb, dag_id, run_id, *task, "--yes"],
            env=dict(self.scene.user),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        yield from self.timer.until(lambda: command.poll() is not None, _DONE_WITHIN)
        return command.poll() == 0

    def _restart(self, service: Service, environment: Mapping[str, str]) -> Steps:
        """End a service, which is started again with that environment."""
        service.environment = environment
        service.harmed = True
        process = service.process
        if process is None or process.poll() is not None:
            return False
        process.kill()
        return (
            yield from self.timer.until(lambda: service.process is not process, _STARTED_WITHIN)
        )

    def _difference(self, service: Service) -> float:
        """Return how far the clock of a service is ahead, by the last line that it has logged."""
        try:
            said = datetime.fromisoformat(service.lines()[-1].split()[0])
        except ValueError:
            return 0.0
        return (said - self.clock.now()).total_seconds()


def faked(offset: float) -> dict[str, str]:
    """Return the environment in which the wall clock of a process is shifted by so many seconds."""
    [library] = Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME": f"{offset:+g}s",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
