"""What happened, from two sides: the tasks' own records, and the rows of the database."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final, NamedTuple

from sqlalchemy import Engine, text


class TaskName(NamedTuple):
    """One task instance, as people name it."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int


@dataclass(frozen=True, slots=True)
class Record:
    """One line that an attempt wrote while it ran; times in seconds."""

    what: str
    """`start`, `alive`, `end`, or `callback`."""

    task: TaskName
    attempt: int
    at: float
    """On CLOCK_BOOTTIME of the machine."""

    wall: float
    """By the wall clock of the machine."""


@dataclass(frozen=True, slots=True)
class AttemptRow:
    """One attempt, as the database has it."""

    task: TaskName
    attempt: int
    outcome: str | None
    is_stopped: bool = False
    """Whether it was told to stop before it ended."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run, as the database has it."""

    dag_id: str
    run_id: str
    state: str
    interval_start: datetime
    interval_end: datetime
    run_after: datetime
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SkippedRow:
    """Intervals that the schedule left out, with a record of why."""

    dag_id: str
    first_start: datetime
    interval_end: datetime


@dataclass(frozen=True, slots=True)
class History:
    """All that happened; the records are in the order in which they were written."""

    records: list[Record]
    attempts: list[AttemptRow]
    runs: list[RunRow]
    skipped: list[SkippedRow]


ATTEMPTS: Final = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, it.attempt, it.outcome,
           it.stop_to IS NOT NULL AS is_stopped
      FROM task_attempt AS it
      JOIN task_instance AS task ON task.id = it.task_instance_id
      JOIN dag_run AS run ON run.id = task.dag_run_id
     ORDER BY task.id, it.attempt
""")
RUNS: Final = text("""
    SELECT dag_id, run_id, state, interval_start, interval_end, run_after, created_at
      FROM dag_run ORDER BY dag_id, interval_start, id
""")
SKIPPED: Final = text("SELECT dag_id, first_start, interval_end FROM skipped_interval")


def read_records(lines: Iterable[str]) -> list[Record]:
    """Return the records of these lines."""
    found = []
    for line in lines:
        it = json.loads(line)
        task = TaskName(it["dag"], it["run"], it["task"], it["map_index"])
        found.append(Record(it["what"], task, it["attempt"], it["at"], it["wall"]))
    return found


def read_history(engine: Engine, records: Path) -> History:
    """Read both sides."""
    with engine.connect() as conn:
        attempts = [
            AttemptRow(TaskName(*row[:4]), row.attempt, row.outcome, row.is_stopped)
            for row in conn.execute(ATTEMPTS)
        ]
        runs = [RunRow(*row) for row in conn.execute(RUNS)]
        skipped = [SkippedRow(*row) for row in conn.execute(SKIPPED)]
    with records.open() as file:
        return History(read_records(file), attempts, runs, skipped)
