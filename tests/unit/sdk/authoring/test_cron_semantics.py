"""What the date of a run is, as a DAG and its bundle say it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from headway.domain.dag.cron_semantics import CronSemantics, stored_in
from headway.domain.errors import DagError
from headway.domain.interval import DataInterval
from headway.sdk import DAG, CronTimetable, DataTimetable
from headway.sdk.authoring.current import DagFile, collect
from headway.sdk.harness.loading import load_dag_file
from headway.timetables.base import DagRunInfo, TimeRestriction
from headway.timetables.sequence import runs_between

INTERVAL, TRIGGER = CronSemantics.INTERVAL, CronSemantics.TRIGGER
START = datetime(2024, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)


def made(of_bundle: CronSemantics | None = None, **options: Any) -> DAG:
    given: Any = {"schedule": "@daily", "start_date": START, **options}
    with collect(DagFile("m", Path("/m.py"), Path("/"), [], None, of_bundle)):
        return DAG("d", **given)


def first_run(dag: DAG) -> DagRunInfo | None:
    bounds = TimeRestriction(START, None, catchup=True)
    return dag.timetable.next_dagrun_info(None, bounds, START + 9 * DAY)


def test_an_interval_is_what_there_is_where_nobody_chooses() -> None:
    assert made().timetable == DataTimetable("@daily", timezone="UTC")
    assert first_run(made()) == DagRunInfo(START + DAY, DataInterval(START, START + DAY))


@pytest.mark.parametrize("schedule", ["@daily", "0 0 * * *"])
@pytest.mark.parametrize("name", ["schedule", "schedule_interval"])
def test_by_trigger_a_run_has_the_date_on_which_it_falls_due(schedule: str, name: str) -> None:
    given: Any = {name: schedule, "start_date": START, "cron_semantics": "trigger"}
    dag = DAG("d", **given)

    assert dag.timetable == CronTimetable("@daily", "UTC")
    assert first_run(dag) == DagRunInfo(START, DataInterval.exact(START))


def test_the_zone_is_that_of_the_dag() -> None:
    dag = made(TRIGGER, timezone="Europe/Paris")

    assert dag.timetable == CronTimetable("@daily", "Europe/Paris")


def test_the_bundle_says_it_for_dags_that_do_not() -> None:
    assert made(TRIGGER).timetable == CronTimetable("@daily", "UTC")
    assert made(INTERVAL).timetable == DataTimetable("@daily", timezone="UTC")


@pytest.mark.parametrize("of_bundle", [None, INTERVAL, TRIGGER])
@pytest.mark.parametrize("own", [INTERVAL, TRIGGER])
def test_a_dag_has_the_last_word(of_bundle: CronSemantics | None, own: CronSemantics) -> None:
    dag = made(of_bundle, cron_semantics=str(own))

    assert stored_in(dag.spec.timetable) is own
    assert dag.cron_semantics is own


def test_none_is_no_choice() -> None:
    assert made(TRIGGER, cron_semantics=None).cron_semantics is TRIGGER


def test_it_may_be_assigned_and_another_assignment_keeps_it() -> None:
    """Also that of the bundle, which is not known any more by then."""
    dag = made(TRIGGER)
    dag.schedule = "@hourly"
    assigned = dag.timetable
    dag.cron_semantics = "interval"

    assert assigned == CronTimetable("@hourly", "UTC")
    assert dag.timetable == DataTimetable("@hourly", timezone="UTC")


@pytest.mark.parametrize("schedule", [None, "@once", "@continuous"])
def test_a_schedule_without_ticks_is_what_it_is(schedule: str | None) -> None:
    chosen = made(schedule=schedule, cron_semantics="trigger")

    assert chosen.spec == made(schedule=schedule).spec


@pytest.mark.parametrize("schedule", [timedelta(days=1), "P1D", CronTimetable("@daily")])
def test_what_says_it_by_itself_takes_no_argument(schedule: object) -> None:
    assert made(TRIGGER, schedule=schedule).spec == made(schedule=schedule).spec
    with pytest.raises(DagError, match="DAG 'd': cron_semantics says what ds is where the sched"):
        made(schedule=schedule, cron_semantics="trigger")


def test_another_word_is_refused() -> None:
    with pytest.raises(DagError, match="cron_semantics must be one of interval, trigger"):
        made(cron_semantics="exact")


@pytest.mark.parametrize("chosen", CronSemantics)
def test_who_reads_the_file_again_comes_to_the_stored_timetable(
    tmp_path: Path, chosen: CronSemantics
) -> None:
    file = tmp_path / "dag.py"
    file.write_text("from headway.sdk import DAG\nDAG('d', schedule='30 5 * * MON')\n")
    [parsed] = load_dag_file(file, tmp_path, None, chosen)

    [again] = load_dag_file(file, tmp_path, None, stored_in(parsed.spec.timetable))

    assert parsed.cron_semantics is chosen
    assert again.spec == parsed.spec


def test_a_change_gives_no_tick_two_runs() -> None:
    """The runs go on after the tick that had the last one, whichever way."""
    interval, trigger = made(INTERVAL).timetable, made(TRIGGER).timetable
    bounds = TimeRestriction(START, None, catchup=True)
    last = DataInterval(START, START + DAY)

    after = trigger.next_dagrun_info(last, bounds, START)
    back = interval.next_dagrun_info(DataInterval.exact(START + DAY), bounds, START)

    assert after is not None
    assert back is not None
    assert (after.run_after, back.run_after) == (START + 2 * DAY, START + 2 * DAY)


@pytest.mark.parametrize(("chosen", "first"), [(INTERVAL, START), (TRIGGER, START)])
def test_a_backfill_goes_by_ds(chosen: CronSemantics, first: datetime) -> None:
    """From one date to another it has the same `ds`, whatever they mean."""
    runs = list(runs_between(made(chosen).timetable, START, first, first + 2 * DAY))

    assert [f"{run.data_interval.start:%F}" for run in runs] == [
        "2024-01-05",
        "2024-01-06",
        "2024-01-07",
    ]
