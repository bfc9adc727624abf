"""A DAG's own arguments: what they become, and what is refused."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pendulum
import pytest

from headway.domain.errors import DagError, TimetableError
from headway.sdk import (
    DAG,
    BashOperator,
    ContinuousTimetable,
    CronTimetable,
    Delayed,
    EmptyOperator,
    dag,
)
from headway.sdk.harness.specification import to_spec


def test_the_zone_of_the_start_date_is_the_zone_of_the_dag() -> None:
    for start in (
        pendulum.datetime(2013, 1, 1, tz="America/New_York"),
        datetime(2013, 1, 1, tzinfo=ZoneInfo("America/New_York")),
    ):
        spec = DAG("flights", start_date=start).spec

        assert spec.timezone == "America/New_York"
        assert spec.start_date == datetime(2013, 1, 1, 5, tzinfo=UTC)
        assert type(spec.start_date) is datetime


def test_without_a_start_date_the_zone_is_utc_or_the_one_that_is_named() -> None:
    assert DAG("a").spec.timezone == "UTC"
    assert DAG("b", start_date=datetime(2013, 1, 1, tzinfo=UTC)).spec.timezone == "UTC"
    assert DAG("c", timezone="Asia/Tokyo").spec.timezone == "Asia/Tokyo"
    assert DAG("d", timezone=ZoneInfo("Asia/Tokyo")).spec.timezone == "Asia/Tokyo"


def test_defaults_are_airflows() -> None:
    spec = DAG("flights").spec

    assert (spec.catchup, spec.max_active_runs, spec.max_active_tasks) == (False, 16, 16)
    assert spec.max_active_tasks_per_dagrun is spec.dagrun_timeout is None


def test_arguments_reach_the_specification() -> None:
    spec = DAG(
        "flights",
        catchup=True,
        params={"limit": 3, "routes": [["EWR", "IAH"]]},
        tags=["nyc", "daily", "nyc"],
        description="Flights",
        doc_md="# Flights",
        is_paused_upon_creation=True,
        max_active_runs=1,
        max_active_tasks_per_dagrun=2,
        dagrun_timeout=timedelta(hours=1),
    ).spec

    assert spec.catchup
    assert spec.params == {"limit": 3, "routes": [["EWR", "IAH"]]}
    assert spec.tags == ("daily", "nyc")
    assert (spec.description, spec.doc_md) == ("Flights", "# Flights")
    assert spec.is_paused_upon_creation is True
    assert spec.max_active_runs == 1
    assert (spec.max_active_tasks_per_dagrun, spec.dagrun_timeout) == (2, 3600.0)
    assert DAG("flights", dagrun_timeout=90).spec.dagrun_timeout == 90.0


def test_a_dag_may_be_parsed_though_nothing_has_changed() -> None:
    spec = DAG(
        "flights", dynamic=True, reparse_on_run=True, min_file_process_interval=timedelta(minutes=2)
    ).spec

    assert (spec.dynamic, spec.reparse_on_run, spec.min_file_process_interval) == (True, True, 120)
    assert DAG("flights", reparse_on_run=True).spec.dynamic is False
    assert DAG("flights", dynamic=True).spec.min_file_process_interval is None
    assert DAG("flights", min_file_process_interval=None).spec.dynamic is False


def test_schedules_differ_in_the_specification() -> None:
    zoned = pendulum.datetime(2013, 1, 1, tz="America/New_York")
    schedules: list[object] = [None, "@daily", "0 5 * * *", timedelta(hours=6)]
    specs = [DAG("x", schedule=schedule, start_date=zoned).spec for schedule in schedules]

    timetables = [(spec.timetable.name, str(spec.timetable.arguments)) for spec in specs]
    assert len(set(timetables)) == len(schedules)


@pytest.mark.parametrize(
    ("catchup", "missed", "for_older_releases"),
    [
        (False, "none", False),
        ("none", "none", False),
        ("latest", "latest", False),
        (True, "all", True),
        ("all", "all", True),
        ("rollup", "rollup", True),
    ],
)
def test_what_becomes_of_missed_runs(
    catchup: bool | str, missed: str, for_older_releases: bool
) -> None:
    spec = DAG("flights", catchup=catchup).spec

    assert (spec.missed, spec.catchup) == (missed, for_older_releases)


def test_what_is_as_ever_is_stored_as_ever() -> None:
    plain = DAG("flights", catchup=True).spec

    assert DAG("flights", catchup="all", overlap="queue", catchup_window=None).spec == plain


def test_how_far_back_and_what_overlaps() -> None:
    spec = DAG("f", catchup="all", catchup_window=timedelta(days=2), overlap="skip").spec

    assert (spec.catchup_window, spec.overlap) == (172_800.0, "skip")


DELAYED = Delayed(ContinuousTimetable(), timedelta(minutes=5))


@pytest.mark.parametrize("schedule", ["@continuous", ContinuousTimetable(), DELAYED])
def test_a_continuous_dag_has_one_run_at_a_time(schedule: object) -> None:
    """Another one is due at any time: without a limit as many would run as may be active."""
    assert DAG("flights", schedule=schedule).spec.max_active_runs == 1
    assert DAG("flights", schedule=schedule, max_active_runs=1).spec.max_active_runs == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"start_date": datetime(1, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo"))},
            "start_date is 0001-01-01 .* beyond the years 1 to 9999 in UTC",
        ),
        ({"start_date": "2013-01-01"}, "start_date must be a datetime with a time zone"),
        (
            {
                "start_date": datetime(2013, 1, 2, tzinfo=UTC),
                "end_date": datetime(2013, 1, 1, tzinfo=UTC),
            },
            "end_date .* is before start_date",
        ),
        ({"timezone": "America/New_Yorck"}, "Did you mean America/New_York"),
        ({"timezone": pendulum.timezone(5400)}, "must be a named zone"),
        ({"max_active_runs": 0}, "max_active_runs must be a whole number from 1 to"),
        ({"max_active_tasks": True}, "max_active_tasks must be a whole number"),
        ({"max_active_tasks_per_dagrun": 0}, "max_active_tasks_per_dagrun must be a whole number"),
        ({"dagrun_timeout": timedelta(0)}, "dagrun_timeout must be longer than 0 seconds"),
        ({"dagrun_timeout": "1h"}, "dagrun_timeout must be a timedelta or a number of seconds"),
        ({"dynamic": 1}, "dynamic must be True or False, not 1"),
        ({"reparse_on_run": None}, "reparse_on_run must be True or False, not None"),
        ({"min_file_process_interval": 60}, "min_file_process_interval .* add dynamic=True"),
        (
            {"dynamic": True, "min_file_process_interval": 0.5},
            "min_file_process_interval must be from 1 to 31,622,400 seconds, not 0.5",
        ),
        (
            {"dynamic": True, "min_file_process_interval": timedelta(days=400)},
            "min_file_process_interval must be from 1 to 31,622,400 seconds",
        ),
        (
            {"catchup": "no"},
            "catchup must be True, False, or one of none, latest, all, rollup, not",
        ),
        ({"catchup": None}, "catchup must be True, False, or one of"),
        ({"overlap": "wait"}, "overlap must be one of queue, skip, cancel_running, not 'wait'"),
        ({"catchup_window": 60}, "catchup_window says how far back .* without catchup none is"),
        ({"catchup": "none", "catchup_window": 60}, "or leave it out"),
        ({"catchup": True, "catchup_window": 0}, "catchup_window must be longer than 0 seconds"),
        (
            {"schedule": "@continuous", "max_active_runs": 2},
            "max_active_runs is 2, and a continuous DAG has one run at a time, .* leave it out",
        ),
        (
            {"schedule": DELAYED, "max_active_runs": 16},
            "max_active_runs is 16, and a continuous DAG has one run at a time",
        ),
        ({"schedule": "@continuous", "overlap": "skip"}, "overlap is 'skip', and runs of a cont"),
        ({"params": {"day": datetime(2013, 1, 1, tzinfo=UTC)}}, r"params\['day'\] is of type dat"),
        ({"params": [1]}, "params must be a dictionary"),
        ({"tags": "nyc"}, "tags must be a list of strings"),
        ({"doc_md": "a\0b"}, "doc_md holds a NUL character"),
        ({"default_args": {"schedule": None}}, "pass schedule= to the DAG itself"),
        ({"schedual": "@daily"}, "does not know the argument 'schedual'; did you mean schedule?"),
    ],
)
def test_a_wrong_argument_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DagError, match=f"^DAG 'flights'.*{message}"):
        DAG("flights", **options)


@pytest.mark.parametrize("old", ["timetable", "schedule_interval"])
@pytest.mark.parametrize("value", [None, "@daily", timedelta(hours=6), CronTimetable("0 9 * * *")])
def test_an_old_argument_means_the_timetable_that_schedule_does(old: str, value: object) -> None:
    options: Any = {old: value}

    assert DAG("x", **options).spec == DAG("x", schedule=value).spec


@pytest.mark.parametrize(
    "options",
    [
        {"schedule": "@daily", "timetable": CronTimetable("0 9 * * *")},
        {"schedule": None, "schedule_interval": "@daily"},
        {"timetable": CronTimetable("0 9 * * *"), "schedule_interval": "@daily"},
    ],
)
def test_two_schedules_are_refused(options: Any) -> None:
    with pytest.raises(DagError, match=f"{' and '.join(options)} both say when it runs"):
        DAG("x", **options)


def test_a_timetable_is_of_the_zone_of_the_dag() -> None:
    start = pendulum.datetime(2026, 1, 1, tz="Europe/Paris")
    spec = DAG("x", schedule=CronTimetable("0 9 * * *"), start_date=start).spec

    assert spec.timetable.arguments == {"cron": "0 9 * * *", "timezone": "Europe/Paris"}


def test_a_schedule_that_is_no_cron_is_refused() -> None:
    with pytest.raises(TimetableError, match=r"^DAG 'flights': .*61"):
        DAG("flights", schedule="61 * * * *")


def test_an_id_that_cannot_be_stored_is_refused() -> None:
    with pytest.raises(DagError, match="DAG id 'my flights' may hold only"):
        DAG("my flights")


def test_the_decorator_makes_a_dag_at_each_call() -> None:
    @dag(schedule="@daily", tags=["nyc"])
    def flights(carrier: str = "UA") -> None:
        """Land the flights."""
        BashOperator(task_id="land", bash_command=f"land {carrier}")

    made, other = flights(), flights("AA")

    assert (made.dag_id, made.spec.doc_md, made.spec.tags) == (
        "flights",
        "Land the flights.",
        ("nyc",),
    )
    assert made.task_ids == other.task_ids == ["land"]
    assert (dict(made.params), dict(other.params)) == ({"carrier": "UA"}, {"carrier": "AA"})


def test_the_decorator_works_bare_and_its_docstring_gives_way() -> None:
    @dag
    def bare() -> None: ...

    @dag("named", doc_md="explicit")
    def documented() -> None:
        """Docstring."""

    assert bare().dag_id == "bare"
    assert (documented().dag_id, documented().spec.doc_md) == ("named", "explicit")


def test_a_dag_without_tasks_is_fine() -> None:
    assert to_spec(DAG("empty"), "empty.py").tasks == ()


def test_blocks_nest() -> None:
    with DAG("outer") as outer:
        with DAG("inner") as inner:
            EmptyOperator(task_id="a")
        EmptyOperator(task_id="b")

    assert (list(outer.task_dict), list(inner.task_dict)) == (["b"], ["a"])
