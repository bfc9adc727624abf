"""Filters as Airflow's clients give them, and the order of lists."""

from datetime import UTC, datetime, timedelta

import pytest
from pydantic import TypeAdapter

from headway.db.reads.pages.paging import TimeRange
from headway.domain.errors import RequestError
from headway.domain.states import Outcome, Phase, RunState, TaskState
from headway_api.airflow.dags.models import dag_of_token, file_token
from headway_api.airflow.filters import Instant, RunTimes, like, time_range
from headway_api.airflow.ids import uuid_of
from headway_api.airflow.ordering import Ordering, known, ordering
from headway_api.airflow.states import run_states, state_of_attempt, task_states
from headway_api.http.preferences import preferred_wait

AT = datetime(2024, 1, 1, tzinfo=UTC)
FINEST = timedelta(microseconds=1)


def test_a_range_begins_at_or_after_and_ends_before_or_at_its_limits() -> None:
    assert time_range(None, None, None, None) == TimeRange()
    assert time_range(AT, None, AT, None) == TimeRange(AT, AT + FINEST)
    assert time_range(None, AT, None, AT) == TimeRange(AT + FINEST, AT)


def test_the_narrowest_limits_count() -> None:
    later = AT + timedelta(days=1)

    assert time_range(AT, later, later, AT) == TimeRange(later + FINEST, AT)
    assert time_range(later, AT, AT, later) == TimeRange(later, AT + FINEST)


def test_limits_belong_to_the_time_that_they_name() -> None:
    times = RunTimes(start_date_gte=AT, end_date_lt=AT)

    assert times.within("start_date") == TimeRange(AT, None)
    assert times.within("end_date") == TimeRange(None, AT)
    assert times.within("run_after") == TimeRange()


def test_an_instant_without_a_zone_is_in_utc() -> None:
    assert TypeAdapter(Instant).validate_python("2024-01-01T00:00:00") == AT


@pytest.mark.parametrize("far", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"])
def test_an_instant_too_far_away_is_refused(far: str) -> None:
    with pytest.raises(ValueError, match="too far away"):
        TypeAdapter(Instant).validate_python(far)


def test_names_are_found_by_a_part_or_by_their_beginning() -> None:
    assert like(None) is None
    assert like("~") is None
    assert like("a_b") == "%a_b%"
    assert like(None, "a_b") == "a\\_b%"


@pytest.mark.parametrize("given", [("a", "b"), ("a|b", None)])
def test_a_filter_by_two_texts_is_refused(given: tuple[str, str | None]) -> None:
    with pytest.raises(RequestError):
        like(*given)


def test_a_list_is_ordered_by_one_attribute() -> None:
    assert ordering([], "id") == Ordering("id", descending=False)
    assert ordering(["-run_after"], "id") == Ordering("run_after", descending=True)
    for several in (["a", "b"], ["a,b"]):
        with pytest.raises(RequestError):
            ordering(several, "id")


def test_an_attribute_that_is_not_there_is_refused_with_those_that_are() -> None:
    assert known({"id": 1}, Ordering("id", descending=False)) == 1
    with pytest.raises(RequestError, match="by id or date"):
        known({"id": 1, "date": 2}, Ordering("conf", descending=False))


def test_states_are_those_of_airflow_with_none_for_undecided() -> None:
    assert task_states([]) is None
    assert task_states(["none", None, "no_status"]) == [TaskState.NONE] * 3
    assert task_states(["running", "up_for_reschedule"]) == [TaskState.RUNNING]
    assert task_states(["awaiting_input"]) == []
    assert run_states([]) is None
    assert run_states(["failed"]) == [RunState.FAILED]
    with pytest.raises(RequestError, match="There is no state 'broken'"):
        task_states(["broken"])


@pytest.mark.parametrize(
    ("phase", "outcome", "state"),
    [
        (Phase.QUEUED, None, "queued"),
        (Phase.RUNNING, None, "running"),
        (Phase.STOPPING, None, "restarting"),
        (Phase.ENDED, Outcome.SUCCESS, "success"),
        (Phase.ENDED, Outcome.SKIPPED, "skipped"),
        (Phase.ENDED, Outcome.FAILED, "failed"),
        (Phase.ENDED, Outcome.TIMED_OUT, "failed"),
        (Phase.ENDED, Outcome.LOST, "failed"),
        (Phase.ENDED, Outcome.CANCELLED, "failed"),
    ],
)
def test_the_state_of_an_attempt_is_one_that_clients_know(
    phase: Phase, outcome: Outcome | None, state: str
) -> None:
    assert state_of_attempt(phase, outcome) == state


def test_ids_are_the_same_each_time_and_differ_by_kind_and_number() -> None:
    assert uuid_of("task_instance", 1) == uuid_of("task_instance", 1)
    assert len({uuid_of("a", 1), uuid_of("a", 2), uuid_of("b", 1)}) == 3


def test_a_file_token_stands_for_the_dag() -> None:
    assert dag_of_token(file_token("my.dag-1")) == "my.dag-1"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("wait=30", 30),
        ('respond-async, WAIT = "5"; x=y', 5),
        ("wait=-1", 0),
        ("wait=9999999", 0),
        ("waiting=3", 0),
    ],
)
def test_the_wait_that_a_client_prefers_is_read(header: str | None, seconds: float) -> None:
    assert preferred_wait(header) == seconds
