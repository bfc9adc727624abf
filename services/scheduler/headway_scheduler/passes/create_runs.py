"""The pass that creates the runs that have fallen due, and enters what gets none."""

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sqlalchemy import Connection

from headway.db.core import events, processes, run_deadlines
from headway.db.core.events import Event
from headway.db.core.processes import Identity
from headway.db.scheduling import dags, runs, skipped_intervals
from headway.db.scheduling.dags import DueDag
from headway.db.scheduling.runs import NewRuns
from headway.db.scheduling.scope import KeyFilter
from headway.decide.scheduling.due import MOST_ROLLED, due
from headway.decide.scheduling.due_plan import DueRuns, ScheduleRules, SkippedInterval
from headway.decide.scheduling.graph import DagGraph
from headway.domain.dag.catchup import SkipReason
from headway.domain.dag.spec import DagSpec
from headway.domain.errors import TimetableError
from headway.domain.states import RunType
from headway.runtime.daemon.seam import nothing
from headway.runtime.daemon.time_limit import computed, interrupted
from headway.timetables.base import DagRunInfo
from headway_scheduler.passes.replacing import ReplacedRuns, cancel_unfinished, tell_ended
from headway_scheduler.replica.replica import Replica

log = logging.getLogger(__name__)

MANY: Final = 1000
"""Runs that one pass creates: after an outage the others are not to wait for all of them."""

LONGEST_PLAN: Final = 3.0
"""Seconds of computing for the runs of one DAG, and after which a pass takes up no other.

While it is computed the DAGs of the pass are locked: the database breaks off a transaction that
does nothing for 10 s, and would do so in every pass.
"""

TRY_AGAIN: Final = timedelta(minutes=10)
"""For how long a timetable that fails is left alone."""

LONGEST: Final = 1000
"""Characters of its error that are kept."""


def nobody(_runs: int) -> None:
    """Tell nobody."""


class Decided(NamedTuple):
    """What is to be done now of one DAG."""

    dag: DueDag
    graph: DagGraph
    plan: DueRuns

    def new(self, infos: Sequence[DagRunInfo], *, long: bool) -> NewRuns:
        """Return runs of the DAG's schedule, by their short names or the `long` ones."""
        kind, its = RunType.SCHEDULED, [info.data_interval for info in infos]
        names = [kind.run_id(interval.start, interval.end if long else None) for interval in its]
        version = self.dag.version_id
        return NewRuns(
            self.dag.dag_id,
            kind,
            version,
            infos,
            {},
            partitions=self.graph.timetable.partitions,
            named=names,
        )


def create_runs(
    replica: Replica,
    now: datetime,
    before_commit: Callable[[], None] = nothing,
    cancelled: Callable[[int], None] = nobody,
    at_most: int = MANY,
) -> int:
    """Create about `at_most` of the runs that are due; return how many DAGs were planned.

    Of how many runs were told to end for them is told to `cancelled` when it is committed.
    """
    limit, ended = min(replica.settings.max_dagruns_to_create_per_loop, at_most), 0

    def create(choice: KeyFilter[str], locked_keys: list[str]) -> int:
        nonlocal ended
        with replica.engine.begin() as conn:
            processes.confirm(conn, replica.me, repeatable=True)
            found = dags.lock_due(conn, now, limit, replica.specs.unreadable, choice)
            locked_keys += [dag.dag_id for dag in found]
            graphs = replica.specs.get(conn, _versions(found))
            readable = [_looked_at(dag, graphs, now) for dag in found if dag.version_id in graphs]
            decided = _decided(readable, graphs, now, at_most)
            making_way = _cancel(conn, replica.me, decided)
            _carry_out(conn, replica.me, decided)
            dags.plan(conn, [(decision.dag, decision.plan) for decision in decided])
            before_commit()
        ended += tell_ended(replica.tracing, making_way)
        return len(decided)

    planned = sum(replica.creating.each(replica.engine, replica.me, now, create))
    if ended:
        cancelled(ended)
    return planned


def _is_enough(covered: int, began: float) -> bool:
    """Whether a pass has rolled up, or computed, as much as it may at once."""
    return covered >= MOST_ROLLED or computed() - began > LONGEST_PLAN


def _versions(due_dags: list[DueDag]) -> set[int]:
    versions = {dag.version_id for dag in due_dags}
    return versions | {
        due_dag.planned_version_id for due_dag in due_dags if due_dag.planned_version_id is not None
    }


def _looked_at(dag: DueDag, graphs: Mapping[int, DagGraph], now: datetime) -> DueDag:
    """Return it as new if it has another schedule, by which runs fell due at other times.

    It is scheduled since now at the latest.
    """
    before = None if dag.planned_version_id is None else graphs.get(dag.planned_version_id)
    spec = graphs[dag.version_id].dag
    anew = before is not None and _schedule(before.dag) != _schedule(spec)
    since = now if anew else min(dag.schedule_state.since, now)
    return replace(dag, schedule_state=replace(dag.schedule_state, since=since))


def _schedule(spec: DagSpec) -> tuple[object, ...]:
    return spec.timetable, spec.start_date


def _decided(
    readable: Sequence[DueDag], graphs: Mapping[int, DagGraph], now: datetime, at_most: int
) -> list[Decided]:
    """Decide about DAGs until it is enough for one pass; the others are for the next one."""
    most, covered, began = max(at_most // max(len(readable), 1), 1), 0, computed()
    decided: list[Decided] = []
    for dag in readable:
        decided.append(_decide(graphs[dag.version_id], dag, now, most))
        plan = decided[-1].plan
        covered += sum(map(len, plan.covers.values()))
        if plan.error or _is_enough(covered, began):
            break
    return decided


def _decide(graph: DagGraph, dag: DueDag, now: datetime, at_most: int) -> Decided:
    try:
        with interrupted(LONGEST_PLAN, f"It takes more than {LONGEST_PLAN:g} s to tell its runs."):
            plan = due(
                graph.timetable, dag.schedule_state, ScheduleRules.of(graph.dag), now, at_most
            )
    except TimetableError as error:
        log.exception("action=timetable_failed dag=%s: its timetable fails", dag.dag_id)
        plan = DueRuns([], None, again=now + TRY_AGAIN, error=str(error)[:LONGEST])
    return Decided(dag, graph, plan)


def _cancel(conn: Connection, me: Identity, decided: Sequence[Decided]) -> list[ReplacedRuns]:
    """Tell the runs to end that make way for others; return which.

    Their workers act on it, so it must not be lost: the transaction waits for the disk.
    """
    ending = [decision.dag.dag_id for decision in decided if decision.plan.cancels]
    if ending:
        processes.wait_for_disk(conn)
    return [cancel_unfinished(conn, me, dag_id) for dag_id in ending]


def _carry_out(conn: Connection, me: Identity, decided: Sequence[Decided]) -> None:
    for decision in decided:
        _leave_out(conn, me, decision.dag.dag_id, decision.plan.skipped)
    created = _create(conn, decided)
    for decision in decided:
        dag_id, conflicts = decision.dag.dag_id, []
        for run in decision.plan.runs:
            covered, run_id = (
                decision.plan.covers.get(run.run_after, []),
                created.get((dag_id, run)),
            )
            if run_id is None:  # what is not known of stands in its way
                first = run.data_interval.start
                conflicts.append(
                    SkippedInterval(first, covered[-1] if covered else run, SkipReason.CONFLICT)
                )
            elif covered:
                skipped_intervals.cover(conn, dag_id, run_id, covered)
                _tell_of_rollup(conn, me, dag_id, run_id, covered)
        _leave_out(conn, me, dag_id, conflicts)


def _leave_out(
    conn: Connection, me: Identity, dag_id: str, left_out: Sequence[SkippedInterval]
) -> None:
    for interval in left_out:
        end = interval.last.data_interval.end
        details = {
            "reason": interval.reason,
            "from": interval.first.isoformat(),
            "to": end.isoformat(),
        }
        log.info("action=skip dag=%s %s", dag_id, details)
        events.add(
            conn,
            Event(actor=f"scheduler:{me.id}", action="dag.skip", dag_id=dag_id, details=details),
        )
    skipped_intervals.add(conn, dag_id, left_out)


def _create(conn: Connection, decided: Sequence[Decided]) -> dict[tuple[str, DagRunInfo], str]:
    """Create runs; return what those are called that were created, by DAG and run.

    One whose name is that of a run of a former schedule gets a longer one.
    """
    created: dict[tuple[str, DagRunInfo], str] = {}
    for long in (False, True):
        left = [(decision, _left(decision, created)) for decision in decided]
        new = [decision.new(infos, long=long) for decision, infos in left if infos]
        found = runs.create(conn, new) if new else set()
        _enter_deadlines(conn, decided, found)
        for new_runs in new:
            names = zip(new_runs.infos, new_runs.run_ids(), strict=True)
            made = {
                (new_runs.dag_id, run): name
                for run, name in names
                if (new_runs.dag_id, name) in found
            }
            created |= made
            _log_created(new_runs.dag_id, list(made.values()))
    return created


def _enter_deadlines(
    conn: Connection, decided: Sequence[Decided], created: set[tuple[str, str]]
) -> None:
    having = {decision.dag.dag_id for decision in decided if decision.graph.has_deadlines}
    if having:
        run_deadlines.enter_named(conn, [name for name in created if name[0] in having])


def _left(it: Decided, created: Container[tuple[str, DagRunInfo]]) -> list[DagRunInfo]:
    return [run for run in it.plan.runs if (it.dag.dag_id, run) not in created]


def _log_created(dag_id: str, names: Sequence[str]) -> None:
    if names:
        span = names[0], names[-1]
        log.info("action=create dag=%s runs=%d from=%s to=%s", dag_id, len(names), *span)


def _tell_of_rollup(
    conn: Connection, me: Identity, dag_id: str, run_id: str, covered: list[DagRunInfo]
) -> None:
    events.add(
        conn,
        Event(
            actor=f"scheduler:{me.id}",
            action="run.rollup",
            dag_id=dag_id,
            run_id=run_id,
            details={"intervals": len(covered)},
        ),
    )
