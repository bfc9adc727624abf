"""Why an interval of a schedule has no run of its own, and what runs it after all."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from headway.decide.explain.explanation import Reason
from headway.decide.explain.skipped import explain_skipped
from headway.decide.explain.snapshot import DagRow, SkippedRow
from headway.domain.dag.catchup import SkipReason
from headway.domain.interval import DataInterval

START = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)

DAG = DagRow(
    dag_id="etl",
    relative_path="etl.py",
    active=True,
    paused=False,
    max_active_runs=2,
    max_active_tasks=16,
    planned=True,
    next_run_after=None,
    next_interval_start=None,
)
ROW = SkippedRow(
    first_start=START,
    end=START + 3 * DAY,
    reason=SkipReason.CATCHUP,
    at=START + 4 * DAY,
    run_id=None,
)
ASKED = DataInterval(START + DAY, START + 2 * DAY)


@pytest.mark.parametrize("reason", [reason for reason in SkipReason if reason != "rollup"])
def test_it_names_what_was_left_out_and_why(reason: SkipReason) -> None:
    found = explain_skipped(DAG, replace(ROW, reason=reason), ASKED)

    assert found.reason is Reason.INTERVAL_SKIPPED
    assert found.sentence.startswith(
        "There is no such run: the intervals from 2026-01-01T00:00:00Z to 2026-01-04T00:00:00Z "
        "were left out at 2026-01-05T00:00:00Z, as "
    )
    assert "etl" in found.sentence
    assert "{" not in found.sentence


@pytest.mark.parametrize(
    "reason", [reason for reason in SkipReason if reason not in {"rollup", "conflict"}]
)
def test_a_backfill_of_the_interval_asked_for_runs_it(reason: SkipReason) -> None:
    found = explain_skipped(DAG, replace(ROW, reason=reason), ASKED)

    assert found.change == (
        "`headway backfill create etl --date 2026-01-02T00:00:00+00:00 --no-wait` "
        "runs that interval."
    )


def test_beside_a_run_about_a_part_of_that_time_only_a_triggered_run_is_possible() -> None:
    found = explain_skipped(DAG, replace(ROW, reason=SkipReason.CONFLICT), ASKED)

    assert found.change == (
        "`headway dags trigger etl --interval 2026-01-02T00:00:00Z 2026-01-03T00:00:00Z` "
        "runs that time."
    )


def test_of_a_schedule_that_has_no_such_interval_now_all_that_time_is_triggered() -> None:
    found = explain_skipped(DAG, ROW, None)

    assert found.change == (
        "`headway dags trigger etl --interval 2026-01-01T00:00:00Z 2026-01-04T00:00:00Z` "
        "runs that time."
    )


def test_what_another_run_covers_needs_nothing() -> None:
    found = explain_skipped(DAG, replace(ROW, run_id="r7"), ASKED)

    assert found.reason is Reason.INTERVAL_SKIPPED
    assert "the run r7 covers its interval with others" in found.sentence
    assert found.change.endswith("`headway tasks list etl r7`.")


def test_of_a_dag_without_a_file_the_file_is_asked_for_first() -> None:
    found = explain_skipped(replace(DAG, active=False), ROW, None)

    assert found.sentence.startswith("There is no such run: the intervals from ")
    assert found.change == "No file defines etl any more: put etl.py back, and ask again."
