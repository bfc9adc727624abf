"""Why a run has not started, or is not there: each reason by itself, and which comes first."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from headway.decide.explain.explanation import Explanation, Holder, Reason
from headway.decide.explain.run import (
    MissingSnapshot,
    QueuedSnapshot,
    clocks_that_differ,
    explain_missing,
    explain_queued,
    no_scheduler,
    reserved,
)
from headway.decide.explain.snapshot import DagRow, ProcessRow, RunRow
from headway.decide.scheduling.start import QueuedRun
from headway.domain.states import RunState

NOW = datetime(2026, 1, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)

DAG = DagRow(
    dag_id="etl",
    relative_path="etl.py",
    active=True,
    paused=False,
    max_active_runs=2,
    max_active_tasks=16,
    planned=True,
    next_run_after=NOW - HOUR,
    next_interval_start=NOW - 2 * HOUR,
)
RUN = RunRow(
    id=3,
    dag_id="etl",
    run_id="r3",
    state=RunState.QUEUED,
    run_after=NOW - HOUR,
    version_id=1,
    version=1,
    backfill_id=None,
    lock_id=None,
    end_as=None,
)
SCHEDULER = ProcessRow(
    id=1, kind="scheduler", hostname="h", pid=7, slots=9, busy=0, silent=0.0, alive=True
)
PARSER = replace(SCHEDULER, id=2, kind="parser")
JOB = replace(SCHEDULER, id=5, kind="backfill")
SILENT = replace(SCHEDULER, id=4, alive=False, silent=180.0)
WRONG = replace(SCHEDULER, id=6, clock_skew=600.0, clock_is_wrong=True)
OTHER = Holder(dag_id="etl", run_id="r1", state="running")


def test_a_holder_is_called_by_its_run_its_task_or_its_instance() -> None:
    task = replace(OTHER, task_id="load")

    assert [holder.name for holder in (OTHER, task, replace(task, map_index=3))] == [
        "r1",
        "load",
        "load[3]",
    ]


def queued(**changes: Any) -> Explanation:
    it = QueuedSnapshot(
        dag=DAG,
        run=RUN,
        most=2,
        active=0,
        active_runs=(),
        coming=[QueuedRun(3, None)],
        nth=1,
        waiting=1,
        job=None,
        schedulers=[SCHEDULER],
        now=NOW,
        parsers=[PARSER],
    )
    return explain_queued(replace(it, **changes))


def missing(dag: DagRow = DAG, **changes: Any) -> Explanation:
    it = MissingSnapshot(
        dag=dag,
        start=NOW - 2 * HOUR,
        unfinished=0,
        unfinished_runs=(),
        schedulers=[SCHEDULER],
        now=NOW,
    )
    return explain_missing(replace(it, **changes))


def test_a_run_that_nothing_holds_starts() -> None:
    found = queued()

    assert found.reason is Reason.RUN_STARTS
    assert found.sentence.endswith("in the next pass of a scheduler.")
    assert found.place is not None
    assert (found.place.queue, found.place.nth, found.place.of) == ("queued runs of etl", 1, 1)


@pytest.mark.parametrize(
    ("changes", "reason", "says", "change"),
    [
        ({"dag": replace(DAG, active=False)}, Reason.DAG_GONE, "starts no runs", "Put the file"),
        (
            {"dag": replace(DAG, paused=True)},
            Reason.DAG_PAUSED,
            "a paused DAG starts no runs",
            "`headway dags unpause etl`",
        ),
        (
            {"run": replace(RUN, run_after=NOW + HOUR)},
            Reason.RUN_AFTER,
            "waits for its date, 2026-01-02T01:00:00Z (in 60 min)",
            "`headway dags trigger etl`",
        ),
        ({"schedulers": [SILENT]}, Reason.NO_SCHEDULER, "silent for 3 min", "headway scheduler"),
        ({"schedulers": [PARSER]}, Reason.NO_SCHEDULER, "No scheduler is alive.", "Start one"),
        ({"schedulers": [WRONG]}, Reason.CLOCK_SKEW, "schedules nothing", "Set the clock of h"),
        (
            {"active": 2, "active_runs": [OTHER]},
            Reason.MAX_ACTIVE_RUNS,
            "etl has 2 active runs, and its max_active_runs allows 2.",
            "The end of one of these runs, or a higher max_active_runs in etl.py.",
        ),
        (
            {"active": 2, "nth": 3, "waiting": 4},
            Reason.MAX_ACTIVE_RUNS,
            "etl has 2 active runs",
            "The end of 3 active runs",
        ),
        (
            {"active": 1, "nth": 3, "coming": [QueuedRun(1, None), QueuedRun(3, None)]},
            Reason.MAX_ACTIVE_RUNS,
            "there is room for 1, and the run is the 3rd of those that wait",
            "The end of 2 active runs",
        ),
        (
            {"run": replace(RUN, backfill_id=8), "most": 0, "coming": [QueuedRun(3, 8)]},
            Reason.BACKFILL_PAUSED,
            "Backfill 8 is paused",
            "`headway backfill resume 8`",
        ),
        (
            {
                "run": replace(RUN, backfill_id=8),
                "most": 1,
                "active": 1,
                "coming": [QueuedRun(3, 8)],
            },
            Reason.BACKFILL_FULL,
            "Backfill 8 has 1 active run, and its max_active_runs allows 1.",
            "The end of one of these runs.",
        ),
        (
            {"run": replace(RUN, pinned=False)},
            Reason.AWAITS_PARSE,
            "for which it is asked when the run is to start; 1 parser alive",
            "The end of that parse",
        ),
        (
            {"run": replace(RUN, pinned=False, parse_requested_at=NOW - HOUR), "parsers": []},
            Reason.AWAITS_PARSE,
            "asked for 60 min ago; 0 parsers alive",
            "headway parser",
        ),
        (
            {"run": replace(RUN, lock_id=5), "job": JOB, "schedulers": []},
            Reason.RUN_RESERVED,
            "backfill 5 (pid 7 on h), which alone schedules it",
            "Nothing is to be done",
        ),
    ],
)
def test_what_holds_a_queued_run(
    changes: dict[str, Any], reason: Reason, says: str, change: str
) -> None:
    found = queued(**changes)

    assert found.reason is reason
    assert says in found.sentence
    assert change in found.change


def test_the_first_of_several_reasons_is_the_reason_and_the_others_are_facts() -> None:
    found = queued(dag=replace(DAG, active=False, paused=True), active=2, schedulers=[])

    assert found.reason is Reason.DAG_GONE
    assert len(found.facts) == 3


def test_a_run_queue_that_is_full_names_who_has_it() -> None:
    assert queued(active=2, active_runs=[OTHER]).held_by == (OTHER,)


def test_a_run_that_is_due_this_very_moment_waits_for_its_run_queue_and_not_for_its_date() -> None:
    found = queued(run=replace(RUN, run_after=NOW), active=2, active_runs=[OTHER])

    assert (found.held_by, found.facts) == ((OTHER,), ())


@pytest.mark.parametrize(
    ("job", "says", "change"),
    [
        (None, "process 5, which has ended", "A live scheduler finds"),
        (replace(JOB, alive=False, silent=90.0), "has been silent for 90 s", "A live scheduler"),
        (replace(JOB, clock_skew=600.0, clock_is_wrong=True), "its clock is", "timedatectl"),
    ],
)
def test_a_job_that_does_not_work_is_named(job: ProcessRow | None, says: str, change: str) -> None:
    found = reserved(replace(RUN, lock_id=5), job)

    assert says in found.sentence
    assert change in found.change


def test_of_silent_schedulers_the_one_heard_of_last_is_named() -> None:
    later = replace(SILENT, id=9, silent=61.0)

    assert "scheduler 9" in no_scheduler([SILENT, later]).sentence


def test_a_run_that_is_due_is_created() -> None:
    found = missing()

    assert found.reason is Reason.RUN_NOT_CREATED
    assert "created in a scheduler's next passes" in found.sentence
    assert found.facts == ()


@pytest.mark.parametrize(
    ("dag", "changes", "reason", "says", "change"),
    [
        ({"active": False}, {}, Reason.DAG_GONE, "gets no runs", "Put the file back"),
        ({"paused": True}, {}, Reason.DAG_PAUSED, "gets no runs", "dags unpause etl"),
        (
            {"schedule_error": "It broke.", "next_run_after": None, "asked_again_at": NOW + HOUR},
            {},
            Reason.TIMETABLE_FAILS,
            "the timetable of etl fails. It broke.",
            "it is asked again at 2026-01-02T01:00:00Z",
        ),
        (
            {"next_run_after": NOW + HOUR},
            {},
            Reason.RUN_NOT_CREATED,
            "it is due at 2026-01-02T01:00:00Z (in 60 min)",
            "`headway dags trigger etl`",
        ),
        (
            {"next_run_after": NOW + HOUR},
            {"start": NOW},
            Reason.RUN_NOT_CREATED,
            "the next of etl is that about the interval from 2026-01-01T22:00:00Z on",
            "created in their order",
        ),
        (
            {},
            {"start": NOW + HOUR},
            Reason.RUN_NOT_CREATED,
            "the next of etl is that about the interval from",
            "Time alone",
        ),
        (
            {},
            {"unfinished": 2, "unfinished_runs": [OTHER]},
            Reason.MAX_ACTIVE_RUNS,
            "etl has 2 unfinished runs of its schedule, and its max_active_runs allows 2.",
            "a higher max_active_runs in etl.py",
        ),
        (
            {"next_run_below": 1},
            {"unfinished": 1},
            Reason.MAX_ACTIVE_RUNS,
            "its overlap has what was missed run one after the other",
            "another overlap in etl.py",
        ),
        ({}, {"schedulers": []}, Reason.NO_SCHEDULER, "No scheduler is alive.", "Start one"),
        (
            {"next_run_after": None},
            {},
            Reason.RUN_NOT_CREATED,
            "the schedule of etl has no further runs.",
            "Another schedule or end_date in etl.py.",
        ),
        (
            {"next_run_after": None, "asked_again_at": NOW + HOUR},
            {},
            Reason.RUN_NOT_CREATED,
            "no further runs that are known now.",
            "or what its timetable looks up: it is asked again at",
        ),
        (
            {"next_run_after": None, "planned": False},
            {},
            Reason.RUN_NOT_CREATED,
            "created in a scheduler's next passes",
            "Nothing is to be done.",
        ),
    ],
)
def test_what_holds_a_run_that_is_not_there(
    dag: dict[str, Any], changes: dict[str, Any], reason: Reason, says: str, change: str
) -> None:
    found = missing(replace(DAG, **dag), **changes)

    assert found.reason is reason
    assert says in found.sentence
    assert change in found.change


def test_of_a_schedule_that_has_ended_the_timetable_says_why() -> None:
    ended = replace(DAG, next_run_after=None)
    remark = "The calendar 'US' has data from 2000-01-01 to 2200-12-31."

    assert missing(ended, remarks=[remark]).facts == (remark,)
    assert missing(remarks=[remark]).facts == ()


def test_one_unfinished_run_less_than_allowed_holds_nothing() -> None:
    assert missing(unfinished=1).facts == ()
    assert missing(replace(DAG, next_run_below=1), unfinished=0).facts == ()


def test_clocks_that_differ_are_those_of_live_processes() -> None:
    ahead = replace(SCHEDULER, clock_skew=30.0)

    told = list(clocks_that_differ([SCHEDULER, ahead, replace(ahead, alive=False)]))

    assert len(told) == 1
    assert told[0].startswith("The clock of scheduler 1 (pid 7 on h) is ")
