"""Have runs that have ended run again in a backfill: all of them at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from headway.actions.change import Author, JournalEntry, enter
from headway.actions.runs.version_choice import LATEST
from headway.db.changes import repins, run_changes, run_end
from headway.db.changes.run_changes import LockedRun
from headway.db.core import stored_versions
from headway.db.users import backfill_plans
from headway.decide.changes.backfill import Existing, PlannedDate, runs_again
from headway.decide.changes.clear import Selection, clear
from headway.decide.changes.intervene import Instance, Intervention, together
from headway.decide.changes.repin import repin
from headway.decide.scheduling.graph import DagGraph
from headway.domain.arguments import JsonValue
from headway.domain.backfill import DateDecision
from headway.domain.errors import ConflictError, SerializationError
from headway.domain.hints import Parameter, hint
from headway.domain.states import Role
from headway.serialization import codec

_ALL = Selection()


def leave_unreadable(conn: Connection, dates: Sequence[PlannedDate]) -> list[PlannedDate]:
    """Return the plan with those in conflict whose run is of a version that cannot be read."""
    _, unreadable = _graphs(conn, {run.version_id for run in runs_again(dates)})
    if not unreadable:
        return list(dates)
    numbers = repins.numbered(conn, unreadable)
    return [_left(date, unreadable, numbers) for date in dates]


def lock_again(conn: Connection, again: Sequence[Existing]) -> list[LockedRun]:
    """Lock the runs that are to run again; ConflictError when one has begun to since the plan."""
    locked = backfill_plans.lock_ended(conn, [run.id for run in again])
    begun = {run.run_id for run in again} - {run.run_id for run in locked}
    if begun:
        raise ConflictError(
            "Somebody else runs again, or has deleted, what was to run again here: "
            f"{', '.join(sorted(begun))}. Nothing is created.",
            hint=hint("Ask again; ", Parameter("dry_run"), " tells what becomes of each date."),
        )
    return locked


def run_again(
    conn: Connection, runs: Sequence[LockedRun], version: str, in_force: int, author: Author
) -> None:
    """Clear all tasks of locked runs that have ended, and queue these.

    With the latest `version` they have the one that is in force (its id) from then on.
    """
    targets = {run.id: in_force if version == LATEST else run.version_id for run in runs}
    ids = {run.version_id for run in runs} | set(targets.values())
    graphs, _ = _graphs(conn, ids)
    numbers = repins.numbered(conn, ids)
    instances = run_changes.lock_all(conn, runs)
    whole: list[Intervention] = []
    repinned: list[int] = []
    for run in runs:
        target = targets[run.id]
        its, own = instances[run.id], target == run.version_id
        if own and (run.pinned or version != LATEST):
            what = clear(graphs[target], _in(graphs[target], its), _ALL)
        else:
            what = repin(graphs[run.version_id], graphs[target], its, _ALL)
            repinned.append(run.id)
        enter(conn, run, _entry(author, numbers[run.version_id], numbers[target]), its)
        whole.append(what)
    run_changes.write(conn, together(whole), Role.USER, (author.actor, "run.clear", author.reason))
    repins.repin(conn, repinned, in_force)
    run_end.start_again(conn, [run.id for run in runs])


def _graphs(
    conn: Connection, ids: Collection[int]
) -> tuple[dict[int, DagGraph], dict[int, SerializationError]]:
    """Return the DAGs of these versions, and why others of them cannot be read, by id."""
    graphs: dict[int, DagGraph] = {}
    unreadable: dict[int, SerializationError] = {}
    for number, data in stored_versions.load(conn, sorted(ids)).items():
        try:
            graphs[number] = DagGraph(codec.decode(data))
        except SerializationError as error:
            unreadable[number] = error
    return graphs, unreadable


def _left(
    date: PlannedDate,
    unreadable: Mapping[int, SerializationError],
    numbers: Mapping[int, int],
) -> PlannedDate:
    run = date.existing
    if date.decision is not DateDecision.RERUN or run is None or run.version_id not in unreadable:
        return date
    number, why = numbers[run.version_id], unreadable[run.version_id]
    reason = f"Its run {run.run_id} has version {number}, which cannot be read: {why}"
    return replace(date, decision=DateDecision.CONFLICT, reason=reason)


def _in(graph: DagGraph, instances: Sequence[Instance]) -> list[Instance]:
    return [instance for instance in instances if instance.task_id in graph.tasks]


def _entry(author: Author, before: int, after: int) -> JournalEntry:
    details: dict[str, JsonValue] = {"version": {"before": before, "after": after}}
    return JournalEntry(author, "run.clear", details=details)
