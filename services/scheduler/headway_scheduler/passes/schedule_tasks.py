"""The pass that settles what has changed in runs, and the one that schedules retries."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection

from headway.db.core import events, processes
from headway.db.core.events import Event
from headway.db.core.processes import Identity
from headway.db.scheduling import run_events, run_snapshots, runs, tasks, wakes
from headway.db.scheduling.run_snapshots import WokenRun
from headway.db.scheduling.scope import KeyFilter
from headway.decide.scheduling.run_counts import Settlement
from headway.domain.dag.callbacks import CallbackEvent, RunReason, run_event
from headway.domain.dag.trigger_rules import Tally
from headway.domain.states import RunState, TaskState
from headway.metrics.scheduler import RETRIES, RUNS_ENDED
from headway.runtime.daemon.seam import nothing
from headway_scheduler.passes.settling import Graphs, count_ended, look_at_whole
from headway_scheduler.replica.replica import Replica


class Settled(NamedTuple):
    """How many runs were settled, and in which pools there may be tasks to queue since.

    There is `more` to do at once where a run has ended or others were woken, or when not all
    that were woken could be settled.
    """

    runs: int
    pools: frozenset[str]
    more: bool


def schedule_tasks(
    replica: Replica,
    now: datetime,
    before_commit: Callable[[], None] = nothing,
    called: Callable[[], None] = nothing,
) -> Settled:
    """Settle runs in which something has changed.

    What has ended is counted into what waits for it; where that does not decide everything,
    the run is looked at as a whole.  Of callbacks that were queued `called` is told after it.
    """
    settings, specs = replica.settings, replica.specs
    limit = settings.max_dagruns_per_loop_to_schedule
    calls: list[int] = []

    def look(choice: KeyFilter[int], locked_keys: list[int]) -> Settled:
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me, repeatable=True)
            woken = run_snapshots.lock_woken(conn, limit, replica.scope, specs.unreadable, choice)
            locked_keys += [run.id for run in woken]
            graphs = specs.get(conn, (run.version_id for run in woken))
            running = [run for run in woken if run.state is RunState.RUNNING]
            running = [run for run in running if run.version_id in graphs]
            _forget(conn, [run for run in woken if run.state is not RunState.RUNNING])
            settled = count_ended(conn, running, graphs)
            rest = [run for run in running if run.id not in settled]
            settled |= look_at_whole(conn, rest, graphs, settings.max_map_length)
            followed = _write(conn, settled, now, settings.priority_aging)
            calls.append(_call_back(conn, running, graphs, settled))
            _tell(conn, replica.me, settled)
            before_commit()
        replica.tracing.runs_ended(_count_ended(running, graphs, settled))
        pools = _filled(running, graphs, settled)
        left = len(settled) < len(woken) or len(woken) >= limit
        return Settled(len(settled), pools, followed or left)

    done = replica.settling.each(replica.engine, replica.me, now, look)
    if any(calls):
        called()
    return _together(done)


def _together(done: Sequence[Settled]) -> Settled:
    pools = frozenset().union(*(settled.pools for settled in done))
    more = len(done) > 1 or any(
        settled.more for settled in done
    )  # each by itself is never a full pass
    return Settled(sum(settled.runs for settled in done), pools, more)


def schedule_retries(replica: Replica, now: datetime) -> int:
    """Schedule task instances whose retry is due; return how many."""
    settings = replica.settings
    with replica.engine.begin() as conn:
        processes.confirm(conn, replica.me, repeatable=True)
        scheduled = tasks.schedule_retries(
            conn, now, settings.max_tis_per_query, settings.priority_aging
        )
    RETRIES.inc(by=scheduled)
    return scheduled


def _filled(
    runs: Sequence[WokenRun], graphs: Graphs, settled: Mapping[int, Settlement]
) -> frozenset[str]:
    """Return the pools in which there may be tasks to queue now."""
    versions = {run.version_id for run in runs if _scheduled_any(settled.get(run.id))}
    return frozenset().union(*(graphs[version].pools for version in versions))


def _scheduled_any(settlement: Settlement | None) -> bool:
    if settlement is None:
        return False
    return bool(settlement.moves.get(TaskState.SCHEDULED) or settlement.expansions)


def _forget(conn: Connection, ended: list[WokenRun]) -> None:
    """Remove the wakes of runs that are not running: they are looked at when they start."""
    if ended:
        wakes.take(conn, [run.id for run in ended])


def _write(
    conn: Connection, settled: Mapping[int, Settlement], now: datetime, aging: float
) -> bool:
    """Write what was decided; return whether a run has ended by it, or was woken."""
    if not settled:
        return False
    moves: dict[TaskState, list[int]] = {}
    expansions: dict[int, int] = {}
    grown: dict[int, int] = {}
    waiting: dict[int, Tally] = {}
    for settlement in settled.values():
        for target, ids in settlement.moves.items():
            moves.setdefault(target, []).extend(ids)
        expansions |= settlement.expansions
        grown |= settlement.grown
        if settlement.unfinished is not None:  # a look at the whole run reads no counts
            waiting |= settlement.waiting
    tasks.decide(conn, moves, now, aging)
    tasks.expand(conn, expansions, now, aging)
    tasks.count(conn, waiting)
    entries = {
        run: (settlement.unfinished, settlement.run_state) for run, settlement in settled.items()
    }
    woken = tasks.grow(conn, grown) + runs.settle(conn, entries, now)
    return woken > 0 or any(settlement.run_state is not None for settlement in settled.values())


def _call_back(
    conn: Connection,
    woken: Sequence[WokenRun],
    graphs: Graphs,
    settled: Mapping[int, Settlement],
) -> int:
    """Queue callbacks for the ends of runs whose DAGs have functions for them; return how many.

    What notifiers tell of is entered likewise.
    """
    ended = [run for run in woken if run.id in settled and settled[run.id].run_state is not None]
    dags = {run.version_id: graphs[run.version_id].dag for run in ended}
    called = _events(ended, settled, {key: dag.callbacks for key, dag in dags.items()})
    run_events.add_callbacks(conn, called)
    told = _events(ended, settled, {key: dag.notifies for key, dag in dags.items()})
    run_events.add_notifications(conn, told)
    return len(called)


def _events(
    ended: Sequence[WokenRun],
    settled: Mapping[int, Settlement],
    having: Mapping[int, tuple[CallbackEvent, ...]],
) -> list[tuple[int, CallbackEvent, RunReason]]:
    """Return the ends of runs, and why they have ended so, that their versions want to have."""
    found = []
    for run in ended:
        state, wanted = settled[run.id].run_state, having[run.version_id]
        if state is None or not wanted:
            continue
        event = run_event(wanted, state, told=run.end_as is not None, timed_out=run.timed_out)
        if event is not None:
            found.append((run.id, *event))
    return found


def _count_ended(
    woken: Sequence[WokenRun], graphs: Graphs, settled: Mapping[int, Settlement]
) -> list[int]:
    """Count the runs that have ended, and return them."""
    found = []
    for run in woken:
        ended = settled[run.id].run_state if run.id in settled else None
        if ended is not None:
            RUNS_ENDED.inc(graphs[run.version_id].dag.dag_id, ended)
            found.append(run.id)
    return found


def _tell(conn: Connection, me: Identity, settled: Mapping[int, Settlement]) -> None:
    """Enter in the journal which mapped tasks could not be expanded, and why."""
    for run, settlement in settled.items():
        for task_id, problem in settlement.problems.items():
            dag_id, run_id = runs.names(conn, run)
            event = Event(
                actor=f"scheduler:{me.id}",
                action="task.not_expanded",
                dag_id=dag_id,
                run_id=run_id,
                task_id=task_id,
                details={"problem": problem},
            )
            events.add(conn, event)
