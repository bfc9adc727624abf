"""What must hold of a history: each check yields its violations in words."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Final, TypeAlias

from tests.chaos.history import History, Record, TaskName

from headway.domain.dag.retry import MOST_LOSSES

Attempt: TypeAlias = tuple[TaskName, int]
RunKey: TypeAlias = tuple[str, str]

UPSTREAM: Final[Mapping[tuple[str, str], str]] = {
    ("short", "each"): "spread",
    ("short", "gather"): "each",
    ("retried", "follows"): "fails_first",
    ("spark", "slow"): "quick",
}
"""The task before each task of the pipelines that has one."""

WITH_CALLBACK: Final = frozenset({("retried", "follows"), ("long", "outlasts_a_lease")})
"""The tasks of the pipelines whose success is told to a callback."""


@dataclass(frozen=True, slots=True)
class Expected:
    """When the schedules of which DAGs began and ended, and which runs users changed."""

    start: datetime
    end: datetime
    dags: Set[str]
    touched: Set[RunKey]
    unscheduled: Set[str] = frozenset()
    """DAGs without a schedule: somebody triggers their runs."""


def violations(history: History, expected: Expected) -> list[str]:
    """Return everything in the history that must not be."""
    return [
        *never_executed(history, expected),
        *overlaps(history),
        *executed_twice(history),
        *unknown(history, expected),
        *successes_without_end(history),
        *runs_not_over(history, expected),
        *too_early(history, expected),
        *schedule_gaps(history, expected),
        *before_upstream(history, expected),
        *after_success(history, expected),
        *unheard(history),
    ]


def never_executed(history: History, expected: Expected) -> Iterator[str]:
    """DAGs of which no task was begun: of those, nothing else here would find anything."""
    executed = {record.task.dag_id for record in history.records if record.what == "start"}
    for dag_id in sorted((expected.dags | expected.unscheduled) - executed):
        yield f"{dag_id}: no task was ever begun"


def overlaps(history: History) -> Iterator[str]:
    """Attempts of one task instance of which two showed life at the same time."""
    lives: dict[TaskName, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for record in _of_attempts(history):
        lives[record.task][record.attempt].append(record.at)
    for task, attempts in lives.items():
        spans = sorted((min(times), max(times), number) for number, times in attempts.items())
        for (_, ended, earlier), (started, _, later) in pairwise(spans):
            if started < ended:
                both = f"attempts {earlier} and {later}"
                yield f"{_named(task)}: {both} overlap by {ended - started:.2f} s"


def executed_twice(history: History) -> Iterator[str]:
    """Attempts that were begun more than once."""
    begun: dict[Attempt, int] = defaultdict(int)
    for record in history.records:
        begun[record.task, record.attempt] += record.what == "start"
    for (task, attempt), times in begun.items():
        if times > 1:
            yield f"{_named(task)}: attempt {attempt} was begun {times} times"


def unknown(history: History, expected: Expected) -> Iterator[str]:
    """Attempts that ran and that the database does not have.

    What a user clears is expanded anew: instances of a mapped task but the first one go.
    """
    known = {(attempt.task, attempt.attempt) for attempt in history.attempts}
    for task, attempt in sorted(
        {(record.task, record.attempt) for record in history.records} - known
    ):
        if task.map_index > 0 and task[:2] in expected.touched:
            continue
        yield f"{_named(task)}: attempt {attempt} ran and is not in the database"


def successes_without_end(history: History) -> Iterator[str]:
    """Attempts that the database calls successful and that never came to their end."""
    ended = {(record.task, record.attempt) for record in history.records if record.what == "end"}
    for attempt in history.attempts:
        if attempt.outcome == "success" and (attempt.task, attempt.attempt) not in ended:
            yield f"{_named(attempt.task)}: attempt {attempt.attempt} is a success and did not end"


def runs_not_over(history: History, expected: Expected) -> Iterator[str]:
    """Runs that have not ended, or have failed though no user intervened.

    A run may fail of which one task was lost more than MOST_LOSSES times.
    """
    losses = Counter(attempt.task for attempt in history.attempts if attempt.outcome == "lost")
    given_up = {task[:2] for task, times in losses.items() if times > MOST_LOSSES}
    for run in history.runs:
        key = (run.dag_id, run.run_id)
        if run.state not in ("success", "failed"):
            yield f"run {run.run_id} of {run.dag_id} is {run.state}"
        elif run.state == "failed" and key not in expected.touched | given_up:
            yield f"run {run.run_id} of {run.dag_id} failed"


def too_early(history: History, expected: Expected) -> Iterator[str]:
    """Runs that were created, and tasks that were begun, before the run was due.

    A run that is triggered falls due while it is created.
    """
    due = {}
    for run in history.runs:
        due[run.dag_id, run.run_id] = run.run_after.timestamp()
        if run.created_at < run.run_after and run.dag_id not in expected.unscheduled:
            yield f"run {run.run_id} of {run.dag_id} was created before it was due"
    for record in history.records:
        if record.what == "start" and record.wall < due.get(record.task[:2], 0.0):
            yield f"{_named(record.task)} was begun before its run was due"


def schedule_gaps(history: History, expected: Expected) -> Iterator[str]:
    """Times of a schedule that no run and no record of why not is about, or that two are about."""
    parts: dict[str, list[tuple[datetime, datetime]]] = defaultdict(list)
    for run in history.runs:
        parts[run.dag_id].append((run.interval_start, run.interval_end))
    for row in history.skipped:
        parts[row.dag_id].append((row.first_start, row.interval_end))
    for dag_id in sorted((expected.dags | parts.keys()) - expected.unscheduled):
        whole = [(expected.start, expected.start), *sorted(parts[dag_id])]
        for (_, end), (start, _) in pairwise(whole):
            if end != start:
                what = "no run" if end < start else "two runs"
                yield f"{dag_id}: {what} from {min(start, end)} to {max(start, end)}"
        if whole[-1][1] < expected.end:
            yield f"{dag_id}: no run from {whole[-1][1]} to {expected.end}"


def before_upstream(history: History, expected: Expected) -> Iterator[str]:
    """Tasks that were begun before the task before them had ended."""
    ended: dict[tuple[str, str, str], float] = {}
    for record in history.records:
        if record.what == "end":
            key = (record.task.dag_id, record.task.run_id, record.task.task_id)
            ended[key] = max(record.at, ended.get(key, 0.0))
    for record in history.records:
        upstream = UPSTREAM.get((record.task.dag_id, record.task.task_id))
        if record.what != "start" or not upstream or record.task[:2] in expected.touched:
            continue
        if record.at < ended.get((record.task.dag_id, record.task.run_id, upstream), float("inf")):
            yield f"{_named(record.task)} was begun before {upstream} had ended"


def after_success(history: History, expected: Expected) -> Iterator[str]:
    """Attempts that came after one that had succeeded, though no user wanted that."""
    for earlier, later in pairwise(history.attempts):
        again = earlier.task == later.task and earlier.outcome == "success"
        if again and later.task[:2] not in expected.touched:
            yield f"{_named(later.task)}: attempt {later.attempt} came after a success"


def unheard(history: History) -> Iterator[str]:
    """Successes that no callback was told of, though the attempt was not told to stop."""
    heard = {
        (record.task, record.attempt) for record in history.records if record.what == "callback"
    }
    for attempt in history.attempts:
        tells = (
            attempt.outcome == "success"
            and (attempt.task.dag_id, attempt.task.task_id) in WITH_CALLBACK
            and not attempt.is_stopped
        )
        if tells and (attempt.task, attempt.attempt) not in heard:
            yield f"{_named(attempt.task)}: no callback of attempt {attempt.attempt}"


def executions(history: History) -> int:
    """Return how many attempts were begun."""
    return sum(record.what == "start" for record in history.records)


def _of_attempts(history: History) -> Iterator[Record]:
    return (record for record in history.records if record.what != "callback")


def _named(task: TaskName) -> str:
    index = f"[{task.map_index}]" if task.map_index >= 0 else ""
    return f"{task.dag_id}.{task.task_id}{index} of {task.run_id}"
