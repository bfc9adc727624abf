"""Which spans a run and its attempts have."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from headway.domain.traces import (
    Parent,
    RunTrace,
    TracedAttempt,
    TracedRun,
    of_attempt,
    of_run,
)

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RUN = RunTrace("flights", "manual__1", 7, NOON)
TOKEN = UUID(int=1)
ATTEMPT = TracedAttempt(
    run=RUN,
    task_id="land",
    map_index=-1,
    attempt=1,
    token=TOKEN,
    queue="default",
    pool="default_pool",
    scheduled_at=NOON - timedelta(seconds=2),
    queued_at=NOON,
    claimed_at=NOON + timedelta(seconds=1),
    ended_at=NOON + timedelta(seconds=5),
    outcome="success",
    error=None,
    worker=3,
)


def seconds(moment: datetime) -> float:
    return (moment - NOON).total_seconds()


def test_every_service_makes_the_same_ids() -> None:
    again = RunTrace("flights", "manual__1", 7, NOON)

    assert (again.trace_id, again.span_id) == (RUN.trace_id, RUN.span_id)


def test_a_run_that_starts_again_and_another_run_have_other_traces() -> None:
    others = [
        replace(RUN, started_at=NOON + timedelta(microseconds=1)),
        replace(RUN, dag_run_id=8),
        replace(RUN, dag_id="flight", run_id="smanual__1"),
    ]

    assert len({trace.trace_id for trace in (RUN, *others)}) == 4


def test_phases_of_an_attempt_follow_each_other_below_it() -> None:
    whole, *phases = of_attempt(ATTEMPT, NOON + timedelta(seconds=2))

    assert (whole.parent_id, whole.error) == (RUN.span_id, None)
    assert [(span.name, seconds(span.start), seconds(span.end)) for span in phases] == [
        ("scheduled", -2, 0),
        ("queued", 0, 1),
        ("claimed", 1, 2),
        ("running", 2, 5),
    ]
    assert {span.parent_id for span in phases} == {whole.span_id}
    assert len({span.span_id for span in (whole, *phases)}) == 5
    assert seconds(whole.start) == -2


def test_when_the_next_try_was_scheduled_is_nothing_of_this_one() -> None:
    retried = replace(ATTEMPT, scheduled_at=NOON + timedelta(seconds=6))

    whole, scheduled, *_ = of_attempt(retried, None)

    assert [seconds(moment) for moment in (whole.start, scheduled.start, scheduled.end)] == [
        0,
        0,
        0,
    ]


def test_no_phase_is_negative_whatever_the_clocks_say() -> None:
    odd = replace(ATTEMPT, claimed_at=NOON - timedelta(seconds=1))

    for began in (NOON - timedelta(hours=1), NOON + timedelta(hours=1)):
        assert all(span.start <= span.end for span in of_attempt(odd, began))


def test_traceparent_names_the_span_that_is_running() -> None:
    *_, running = of_attempt(ATTEMPT, None)

    named = str(Parent(RUN, TOKEN))
    assert named == f"00-{RUN.trace_id:032x}-{running.span_id:016x}-01"
    assert str(Parent(RUN, TOKEN, sampled=False)).endswith("-00")


def test_an_attempt_that_failed_says_why_and_one_that_was_skipped_did_not_fail() -> None:
    failed = replace(ATTEMPT, outcome="failed", error="division by zero")
    lost, skipped = replace(ATTEMPT, outcome="lost"), replace(ATTEMPT, outcome="skipped")

    errors = [next(of_attempt(attempt, None)).error for attempt in (failed, lost, skipped)]
    assert errors == ["division by zero", "lost", None]


def test_an_attempt_that_nobody_claimed_has_no_spans() -> None:
    assert list(of_attempt(replace(ATTEMPT, claimed_at=None), None)) == []


def test_a_run_lasts_from_when_it_was_due() -> None:
    run = TracedRun(
        trace=RUN,
        run_type="scheduled",
        due_at=NOON - timedelta(seconds=3),
        ended_at=NOON + timedelta(seconds=9),
        state="failed",
    )

    whole, due = of_run(run)

    assert (seconds(whole.start), seconds(whole.end), whole.parent_id) == (-3, 9, None)
    assert (seconds(due.start), seconds(due.end), due.parent_id) == (-3, 0, whole.span_id)
    assert whole.error == "The run has ended as failed."
