"""The pass that settles what has changed in runs, and the one that schedules retries."""

from collections.abc import Callable, Sequence
from datetime import datetime

from sqlalchemy import Connection, Engine

from headway.db import processes, runs, tasks, wakes
from headway.db.processes import Identity
from headway.decide.settle import RunStanding, Settlement, settle
from headway.domain.spec import DagSpec
from headway.domain.states import RunState, TaskState
from headway.runtime.seam import nothing
from headway_scheduler.specs import Specs


def schedule_tasks(
    engine: Engine,
    me: Identity,
    specs: Specs,
    now: datetime,
    limit: int,
    before_commit: Callable[[], None] = nothing,
) -> int:
    """Settle up to `limit` runs in which something has changed; return how many there were."""
    with engine.begin() as conn:
        processes.confirm(conn, me)
        woken = runs.lock_woken(conn, limit, specs.unreadable)
        dags = specs.get(conn, (run.version_id for run in woken))
        woken = [run for run in woken if run.version_id in dags]
        wakes.take(conn, [run.id for run in woken])
        running = [run for run in woken if run.state is RunState.RUNNING]
        standings = _standings(conn, [(run.id, dags[run.version_id]) for run in running])
        settlements = {standing.run_id: settle(standing) for standing in standings}
        _write(conn, settlements, now)
        _wake_following(conn, specs, list(settlements))
        before_commit()
    return len(woken)


def schedule_retries(engine: Engine, me: Identity, now: datetime, limit: int) -> int:
    """Schedule up to `limit` task instances whose retry is due; return how many."""
    with engine.begin() as conn:
        processes.confirm(conn, me)
        return tasks.schedule_retries(conn, now, limit)


def _standings(conn: Connection, found: Sequence[tuple[int, DagSpec]]) -> list[RunStanding]:
    standing = tasks.standings(conn, [run_id for run_id, _ in found])
    past = tasks.past_standings(conn, [run_id for run_id, dag in found if _holds_back(dag)])
    return [
        RunStanding(run_id, dag, standing[run_id], _past(dag, past.get(run_id)))
        for run_id, dag in found
    ]


def _past(
    dag: DagSpec, previous: tuple[bool, dict[str, TaskState]] | None
) -> dict[str, TaskState] | None:
    if previous is None:
        return None
    started, states = previous
    return (
        states if started else dict.fromkeys((task.task_id for task in dag.tasks), TaskState.NONE)
    )


def _write(conn: Connection, settlements: dict[int, Settlement], now: datetime) -> None:
    moves: dict[TaskState, list[int]] = {}
    for settlement in settlements.values():
        for target, ids in settlement.moves.items():
            moves.setdefault(target, []).extend(ids)
    tasks.move(conn, moves, now)
    for state in (RunState.SUCCESS, RunState.FAILED):
        ended = [run_id for run_id, it in settlements.items() if it.run_state is state]
        if ended:
            runs.end(conn, ended, state, now)


def _wake_following(conn: Connection, specs: Specs, settled: Sequence[int]) -> None:
    """Have the runs after these looked at, if tasks of theirs may have waited for them."""
    following = runs.following(conn, settled)
    dags = specs.get(conn, following.values())
    waiting = {version_id for version_id, dag in dags.items() if _holds_back(dag)}
    wakes.add(conn, [run for run, version_id in following.items() if version_id in waiting])


def _holds_back(dag: DagSpec) -> bool:
    return any(task.depends_on_past for task in dag.tasks)
