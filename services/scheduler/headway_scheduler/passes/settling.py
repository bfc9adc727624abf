"""How the runs of a pass are looked at: by counts where that is enough, else as a whole."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TypeAlias

from sqlalchemy import Connection

from headway.db.scheduling import run_snapshots, wakes
from headway.db.scheduling.run_snapshots import Past, RunSnapshot, WokenRun
from headway.decide.scheduling import grouped
from headway.decide.scheduling.advance import advance, arrivals
from headway.decide.scheduling.graph import DagGraph
from headway.decide.scheduling.grouped_advance import advance_by_index, reached
from headway.decide.scheduling.run_counts import Lengths, RunCounts, Settlement
from headway.decide.scheduling.settle import settle
from headway.domain.states import RunState, TaskState

Graphs: TypeAlias = Mapping[int, DagGraph]
"""DAGs by their version."""


def count_ended(
    conn: Connection, runs: Iterable[WokenRun], graphs: Graphs
) -> dict[int, Settlement]:
    """Settle locked runs by what has ended in them; those are left out that need a whole look."""
    unfinished = {run.id: run.unfinished for run in runs if run.unfinished is not None}
    versions = {run.id: graphs[run.version_id] for run in runs}
    grouped_runs = {run: left for run, left in unfinished.items() if versions[run].mapped_groups}
    plain = {run: left for run, left in unfinished.items() if run not in grouped_runs}
    settled = _count(conn, plain, versions) if plain else {}
    return settled | _count_each(conn, grouped_runs, versions) if grouped_runs else settled


def _count(
    conn: Connection, unfinished: Mapping[int, int], versions: Graphs
) -> dict[int, Settlement]:
    facts = wakes.take(conn, list(unfinished))
    arrived = {
        run: arrivals(versions[run], fact.ended) for run, fact in facts.items() if not fact.whole
    }
    undecided = run_snapshots.below(conn, arrived)
    settled = {}
    for run, added in arrived.items():
        left = unfinished[run] - facts[run].instances
        settlement = advance(versions[run], added, undecided[run], left)
        if settlement is not None:
            settled[run] = settlement
    return settled


def _count_each(
    conn: Connection, unfinished: Mapping[int, int], versions: Graphs
) -> dict[int, Settlement]:
    """Settle runs with mapped groups, in which single instances wait for single instances."""
    facts = wakes.take_each(conn, list(unfinished))
    ended = {run: fact.ended for run, fact in facts.items() if not fact.whole}
    wanted = {run: reached(versions[run], its) for run, its in ended.items()}
    undecided = run_snapshots.below_by_index(conn, wanted)
    settled = {}
    for run, its in ended.items():
        left = unfinished[run] - len(its)
        settlement = advance_by_index(versions[run], its, undecided[run], left)
        if settlement is not None:
            settled[run] = settlement
    return settled


def look_at_whole(
    conn: Connection, runs: Sequence[WokenRun], graphs: Graphs, most: int
) -> dict[int, Settlement]:
    """Settle locked runs as a whole; no mapped task becomes more than `most` instances.

    Runs are left out, with their wakes, of which another scheduler is settling the run before.
    """
    holding = [run.id for run in runs if graphs[run.version_id].holds_back]
    before, states = run_snapshots.previous(conn, holding)
    runs = [run for run in runs if run.id not in before or before[run.id] in states]
    if not runs:
        return {}
    by_index = {task_id for run in runs for task_id in graphs[run.version_id].mapped_groups}
    found = run_snapshots.whole(conn, [run.id for run in runs], by_index)
    lengths = _lengths(conn, {run.id: (graphs[run.version_id], found[run.id]) for run in runs})
    past = run_snapshots.past(conn, states)
    dates = run_snapshots.dates(conn, [run.id for run in runs if graphs[run.version_id].dated])
    skips = {run.id: grouped.skips(graphs[run.version_id], found[run.id].skips) for run in runs}
    return {
        run.id: settle(
            RunCounts(
                run_id=run.id,
                graph=graphs[run.version_id],
                tasks=found[run.id].tasks,
                skips=skips[run.id][0] | _left_out(graphs[run.version_id], dates.get(run.id)),
                past=_past(graphs[run.version_id], before.get(run.id), states, past),
                lengths=lengths.get(run.id, {}),
                end_as=run.end_as,
                index_skips=skips[run.id][1],
            ),
            most,
        )
        for run in runs
    }


def _left_out(graph: DagGraph, date: datetime | None) -> frozenset[str]:
    return frozenset() if date is None else graph.left_out(date)


def _past(
    graph: DagGraph, before: int | None, states: Mapping[int, RunState], past: Mapping[int, Past]
) -> Past | None:
    if before is None:
        return None
    if states[before] is RunState.QUEUED:
        return {task.task_id: {TaskState.NONE} for task in graph.dag.tasks}
    return past[before]


def _lengths(
    conn: Connection, runs: Mapping[int, tuple[DagGraph, RunSnapshot]]
) -> dict[int, Lengths]:
    """Return what the mapped tasks that are still to be expanded are expanded over, by run."""
    wanted = {
        (run, *source)
        for run, (graph, whole) in runs.items()
        for task_id, task_counts in whole.tasks.items()
        if task_counts.placeholder and task_id in graph.tasks
        for source in graph.tasks[task_id].map_sources()
    }
    found: dict[int, dict[tuple[str, str], int | None]] = {}
    if wanted:
        for (run, task_id, key), length in run_snapshots.lengths(conn, sorted(wanted)).items():
            found.setdefault(run, {})[task_id, key] = length
    return dict(found)
