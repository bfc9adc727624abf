"""Why a run has not started, or is not there yet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from headway.decide.explain.explanation import Explanation, Holder, QueuePlace, Reason, single
from headway.decide.explain.snapshot import DagRow, ProcessRow, RunRow, alive
from headway.decide.explain.wording import command, counted, instant, lasting, ordinal, timed
from headway.decide.scheduling.start import QueuedRun, placed
from headway.domain.clock_skew import described, is_notable

START_A_SCHEDULER = "Start one: `headway scheduler`."
START_A_PARSER = "Start one: `headway parser`."


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedSnapshot:
    """A queued run, and its run queue: its backfill, or, outside of any, the DAG's own runs.

    `active` of the run queue's `most` runs are running, of which `active_runs` are the first.
    `coming` are the runs that the scheduler would look at; this one is the `nth` of the
    `waiting`.  `job` is the process that has reserved it, if that has not ended.
    """

    dag: DagRow
    run: RunRow
    most: int
    active: int
    active_runs: Sequence[Holder]
    coming: Sequence[QueuedRun]
    nth: int
    waiting: int
    job: ProcessRow | None
    schedulers: Sequence[ProcessRow]
    now: datetime
    parsers: Sequence[ProcessRow] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingSnapshot:
    """A run of the schedule that is not there yet: that about the interval from `start` on.

    `unfinished` runs of the schedule have not ended, of which `unfinished_runs` are the first.
    `remarks` are what its timetable says of times for which it has no run.
    """

    dag: DagRow
    start: datetime
    unfinished: int
    unfinished_runs: Sequence[Holder]
    schedulers: Sequence[ProcessRow]
    now: datetime
    remarks: Sequence[str] = ()


def explain_queued(it: QueuedSnapshot) -> Explanation:
    """Say why a queued run has not started."""
    place = QueuePlace(f"queued runs of {_run_queue(it)}", it.nth, it.waiting)
    starts = Explanation(
        reason=Reason.RUN_STARTS,
        sentence="The run is queued, and nothing holds it: it starts in the next pass of "
        f"{'the job that has reserved it' if it.run.lock_id else 'a scheduler'}.",
        change="Nothing is to be done.",
        place=place,
    )
    return single(_held_queued(it, place), lambda: starts)


def explain_missing(it: MissingSnapshot) -> Explanation:
    """Say why a run of the schedule has not been created."""
    due, again = it.dag.next_run_after, it.dag.asked_again_at
    created = Explanation(
        reason=Reason.RUN_NOT_CREATED,
        sentence="There is no such run yet; it is created in a scheduler's next passes.",
        change="Nothing is to be done.",
    )
    if it.dag.planned and due is None:
        created = Explanation(
            reason=Reason.RUN_NOT_CREATED,
            sentence=f"There is no such run: the schedule of {it.dag.dag_id} has no further runs"
            f"{'.' if again is None else ' that are known now.'}",
            change=f"Another schedule or end_date in {it.dag.relative_path}"
            f"{_asked(again, it.now)}.",
            facts=tuple(it.remarks),
        )
    return single(_held_missing(it), lambda: created)


def _asked(again: datetime | None, now: datetime) -> str:
    if again is None:
        return ""
    return f", or what its timetable looks up: it is asked again at {timed(again, now)}"


def no_scheduler(schedulers: Sequence[ProcessRow]) -> Explanation:
    """Say that no process schedules."""
    waiting = next(
        (process for process in schedulers if process.alive and process.clock_is_wrong), None
    )
    if waiting is not None:
        return _clock_is_wrong(waiting)
    last = min(schedulers, key=lambda process: process.silent, default=None)
    known = "" if last is None else f": {last.name} has been silent for {lasting(last.silent)}"
    return Explanation(
        reason=Reason.NO_SCHEDULER,
        sentence=f"No scheduler is alive{known}.",
        change=START_A_SCHEDULER,
    )


def _clock_is_wrong(process: ProcessRow) -> Explanation:
    return Explanation(
        reason=Reason.CLOCK_SKEW,
        sentence=f"The {process.name} schedules nothing: its clock is "
        f"{described(process.clock_skew or 0.0)}, more than HEADWAY_SCHEDULER_MAX_CLOCK_SKEW.",
        change=f"Set the clock of {process.hostname} by NTP: `timedatectl set-ntp true`.",
    )


def reserved(run: RunRow, job: ProcessRow | None) -> Explanation:
    """Say that one job alone may touch the run."""
    if job is not None and job.alive and job.clock_is_wrong:
        return _clock_is_wrong(job)
    if job is not None and job.alive:
        return Explanation(
            reason=Reason.RUN_RESERVED,
            sentence=f"The run is reserved for the {job.name}, which alone schedules it, and does "
            "so in its next pass.",
            change="Nothing is to be done; when that process ends, schedulers go on with the run.",
        )
    whose = f"process {run.lock_id}" if job is None else f"the {job.name}"
    state = "has ended" if job is None else f"has been silent for {lasting(job.silent)}"
    return Explanation(
        reason=Reason.RUN_RESERVED,
        sentence=f"The run is reserved for {whose}, which {state}.",
        change="A live scheduler finds that process dead, and releases the run.",
    )


def _held_queued(it: QueuedSnapshot, place: QueuePlace) -> Iterator[Explanation]:
    dag = it.dag.dag_id
    if not it.dag.active:
        yield _gone(it.dag, "starts no runs")
    if it.dag.paused:
        yield _paused(it.dag, "starts no runs")
    if it.run.run_after > it.now:
        yield Explanation(
            reason=Reason.RUN_AFTER,
            sentence=f"The run waits for its date, {timed(it.run.run_after, it.now)}.",
            change=f"Time alone; to have a run now: {command('dags', 'trigger', dag)}.",
        )
    if it.run.lock_id is None and not _schedule(it.schedulers):
        yield no_scheduler([them for them in it.schedulers if them.kind == "scheduler"])
    free = {it.run.backfill_id: it.most - it.active}
    if it.run.run_after <= it.now and it.run.id not in {run.id for run in placed(it.coming, free)}:
        yield _run_queue_full(it, place)
    if not it.run.pinned:
        yield _awaits_parse(it)
    if it.run.lock_id is not None:
        yield reserved(it.run, it.job)


def _awaits_parse(it: QueuedSnapshot) -> Explanation:
    asked, parsers = it.run.parse_requested_at, alive(it.parsers)
    if asked is None:
        when = "for which it is asked when the run is to start"
    else:
        when = f"asked for {lasting((it.now - asked).total_seconds())} ago"
    return Explanation(
        reason=Reason.AWAITS_PARSE,
        sentence=f"The run waits for {it.dag.relative_path} to be parsed, as its DAG has "
        f"reparse_on_run ({when}; {counted(len(parsers), 'parser')} alive).",
        change="The end of that parse, whether it succeeds or fails."
        if parsers
        else START_A_PARSER,
    )


def _run_queue_full(it: QueuedSnapshot, place: QueuePlace) -> Explanation:
    backfill = it.run.backfill_id is not None
    if it.most < 1 and backfill:
        return Explanation(
            reason=Reason.BACKFILL_PAUSED,
            sentence=f"{_run_queue(it).capitalize()} is paused, and starts no runs.",
            change=command("backfill", "resume", it.run.backfill_id),
            place=place,
        )
    free = it.most - it.active
    runs = f"{counted(it.active, 'active run')}, and its max_active_runs allows {it.most:,}"
    owner = _run_queue(it).capitalize() if backfill else _run_queue(it)
    if free > 0:
        sentence = (
            f"{owner} has {runs}: there is room for "
            f"{free:,}, and the run is the {ordinal(it.nth)} of those that wait."
        )
    else:
        sentence = f"{owner} has {runs}."
    many = max(it.nth - free, 1)
    ends = "The end of one of these runs" if many == 1 else f"The end of {many:,} active runs"
    file = "" if backfill else f", or a higher max_active_runs in {it.dag.relative_path}"
    return Explanation(
        reason=Reason.BACKFILL_FULL if backfill else Reason.MAX_ACTIVE_RUNS,
        sentence=sentence,
        change=f"{ends}{file}.",
        held_by=tuple(it.active_runs),
        place=place,
    )


def _held_missing(it: MissingSnapshot) -> Iterator[Explanation]:
    dag = it.dag
    if not dag.active:
        yield _gone(dag, "gets no runs")
    if dag.paused:
        yield _paused(dag, "gets no runs")
    if dag.schedule_error is not None and dag.planned:
        yield Explanation(
            reason=Reason.TIMETABLE_FAILS,
            sentence=f"There is no such run: the timetable of {dag.dag_id} fails. "
            f"{dag.schedule_error}",
            change=f"Another schedule in {dag.relative_path}{_asked(dag.asked_again_at, it.now)}.",
        )
    if _is_early(it):
        yield _not_due(it)
    most = dag.max_active_runs if dag.next_run_below is None else dag.next_run_below
    if it.unfinished >= most:
        yield _no_room(it)
    if not _schedule(it.schedulers):
        yield no_scheduler([them for them in it.schedulers if them.kind == "scheduler"])


def _no_room(it: MissingSnapshot) -> Explanation:
    dag, unfinished = it.dag, counted(it.unfinished, "unfinished run")
    allowed = f"its max_active_runs allows {dag.max_active_runs:,}"
    change = "The end of one of these runs, or a higher max_active_runs in "
    if dag.next_run_below is not None:
        allowed = "its overlap has what was missed run one after the other"
        change = "The end of these runs, or another overlap in "
    return Explanation(
        reason=Reason.MAX_ACTIVE_RUNS,
        sentence=f"There is no such run yet: {dag.dag_id} has {unfinished} of its schedule, and "
        f"{allowed}.",
        change=f"{change}{dag.relative_path}.",
        held_by=tuple(it.unfinished_runs),
    )


def _is_early(it: MissingSnapshot) -> bool:
    due = it.dag.next_run_after
    return it.dag.planned and due is not None and (due > it.now or it.start > it.now)


def _not_due(it: MissingSnapshot) -> Explanation:
    dag, due, following = it.dag, it.dag.next_run_after, it.dag.next_interval_start
    assert due is not None
    absent = "There is no such run yet"
    if following is not None and it.start > following:
        return Explanation(
            reason=Reason.RUN_NOT_CREATED,
            sentence=f"{absent}: the next of {dag.dag_id} is that about the interval from "
            f"{instant(following)} on, due at {timed(due, it.now)}.",
            change="Time alone: the runs of a schedule are created in their order.",
        )
    return Explanation(
        reason=Reason.RUN_NOT_CREATED,
        sentence=f"{absent}: it is due at {timed(due, it.now)}.",
        change=f"Time alone; to have a run now: {command('dags', 'trigger', dag.dag_id)}.",
    )


def _gone(dag: DagRow, what: str) -> Explanation:
    return Explanation(
        reason=Reason.DAG_GONE,
        sentence=f"No file defines {dag.dag_id} any more (it was in {dag.relative_path}), and such "
        f"a DAG {what}.",
        change="Put the file back, or mend it, if `headway dags list` shows it as an import error.",
    )


def _paused(dag: DagRow, what: str) -> Explanation:
    return Explanation(
        reason=Reason.DAG_PAUSED,
        sentence=f"{dag.dag_id} is paused, and a paused DAG {what}.",
        change=command("dags", "unpause", dag.dag_id),
    )


def _schedule(processes: Sequence[ProcessRow]) -> bool:
    return any(process.kind == "scheduler" for process in alive(processes))


def clocks_that_differ(processes: Sequence[ProcessRow]) -> Iterator[str]:
    """Say of live processes that their clocks differ from the database's."""
    for process in processes:
        if process.alive and is_notable(process.clock_skew or 0.0):
            yield f"The clock of {process.name} is {described(process.clock_skew or 0.0)}."


def _run_queue(it: QueuedSnapshot) -> str:
    backfill = it.run.backfill_id
    return it.dag.dag_id if backfill is None else f"backfill {backfill}"
