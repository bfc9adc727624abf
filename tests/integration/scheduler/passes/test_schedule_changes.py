"""A change of schedule loses no interval without a record, and never brings the DAG to a halt."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import Engine, text

from headway.db.scheduling import runs
from headway.domain.dag.spec import DagSpec
from headway.domain.states import RunType
from headway.testing.data import seed
from headway.timetables import registry
from headway.timetables.base import Timetable
from headway.timetables.kinds.cron import CronTimetable, DataTimetable
from headway.timetables.kinds.wrapped import Delayed, RollingWindow
from headway.timetables.sequence import runs_between
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.replica.replica import Replica

DAILY: Final = DataTimetable("0 0 * * *", timezone="UTC")
KINDS: Final[dict[str, Timetable]] = {
    "daily": DAILY,
    "at_six": DataTimetable("0 6 * * *", timezone="UTC"),
    "weekly": DataTimetable("0 0 * * MON", timezone="UTC"),
    "delayed": Delayed(DAILY, "P7D"),
    "rolling": RollingWindow(DAILY, "P7D", "UTC"),
    "exact": CronTimetable("0 0 * * *", "UTC"),
}
CHANGED: Final = 20.5


def at(day: float) -> datetime:
    return seed.START + day * seed.DAY


def dag(kind: str, dag_id: str = "etl", **changes: object) -> DagSpec:
    """Return a DAG that catches up with all, one run after the other."""
    spec = replace(seed.dag(dag_id=dag_id), timetable=registry.encode(KINDS[kind]))
    return replace(spec, max_active_runs=1, **changes)  # type: ignore[arg-type]


def store(engine: Engine, spec: DagSpec) -> None:
    seed.store(engine, spec)
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET scheduled_since = :at"), {"at": at(0)})


def end_runs(engine: Engine) -> None:
    with engine.begin() as conn:
        end = "UPDATE dag_run SET state = 'success', started_at = now(), ended_at = now()"
        conn.execute(text(f"{end} WHERE state = 'queued'"))


def settle(engine: Engine, replica: Replica, day: float) -> None:
    """Have all that is due created, each run ending before the next."""
    for _ in range(50):
        if not create_runs(replica, at(day)):
            return
        end_runs(engine)
    raise AssertionError("the scheduler plans the same DAGs again and again")


def spans(engine: Engine, dag_id: str = "etl", kind: str = "scheduled") -> set[tuple[float, float]]:
    found = text("""
        SELECT interval_start, interval_end FROM dag_run WHERE dag_id = :dag AND run_type = :kind
    """)
    with engine.connect() as conn:
        rows = conn.execute(found, {"dag": dag_id, "kind": kind}).all()
    return {tuple((moment - seed.START) / seed.DAY for moment in row) for row in rows}


def records(engine: Engine, dag_id: str = "etl") -> list[tuple[float, float, str]]:
    found = text("""
        SELECT first_start, interval_end, reason FROM skipped_interval
         WHERE dag_id = :dag ORDER BY interval_end
    """)
    with engine.connect() as conn:
        rows = conn.execute(found, {"dag": dag_id}).all()
    days = [[(moment - seed.START) / seed.DAY for moment in row[:2]] for row in rows]
    return [(first, end, row.reason) for (first, end), row in zip(days, rows, strict=True)]


def test_every_schedule_goes_on_as_every_other_one(engine: Engine, replica: Replica) -> None:
    """Each DAG changes after twenty days from one kind to another; both catch up with all."""
    changes = [(old, new) for old in KINDS for new in KINDS if old != new]
    for old, new in changes:
        store(engine, dag(old, f"{old}-{new}"))
    settle(engine, replica, CHANGED)
    before = {(old, new): spans(engine, f"{old}-{new}") for old, new in changes}
    for old, new in changes:
        store(engine, dag(new, f"{old}-{new}"))
    for day in (CHANGED, CHANGED + 9):
        settle(engine, replica, day)

    for old, new in changes:
        name = f"{old}-{new}"
        last = max(end for _, end in before[old, new])
        wanted = {
            tuple((moment - seed.START) / seed.DAY for moment in (info.data_interval.start, end))
            for info in runs_between(KINDS[new], at(0), at(0), at(CHANGED + 9))
            if (end := info.data_interval.end) > at(last) and info.run_after <= at(CHANGED + 9)
        }
        led_over = {interval for interval in wanted if interval[0] < last and KINDS[new].partitions}
        assert wanted, name
        assert wanted - led_over <= spans(engine, name), name
        assert records(engine, name) == [], name


def backfill(engine: Engine, day: int) -> None:
    """Enter a backfill's run about a day, as of a daily schedule."""
    with engine.begin() as conn:
        made = text("""
            INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
            VALUES ('etl', now(), now(), 1, 1) RETURNING id
        """)
        backfill_id = conn.scalar(made)
        version = conn.scalar(text("SELECT version_id FROM dag"))
        kind, infos = RunType.BACKFILL, [seed.info(day)]
        new = runs.NewRuns("etl", kind, version, infos, {}, backfill_id, partitions=True)
        assert runs.create(conn, [new])


def test_what_a_backfill_of_the_former_schedule_is_in_the_way_of_has_a_record(
    engine: Engine, replica: Replica
) -> None:
    """The run about day 4 lies across two of the intervals from six to six."""
    store(engine, dag("daily"))
    settle(engine, replica, 2)
    backfill(engine, 4)
    store(engine, dag("at_six"))

    settle(engine, replica, 8)

    assert records(engine) == [(3.25, 5.25, "conflict")]
    assert spans(engine) == {(0, 1), (1, 2), (2, 2.25), (2.25, 3.25), (5.25, 6.25), (6.25, 7.25)}


def test_a_backfill_of_the_last_day_of_a_week_does_not_stand_for_the_week(
    engine: Engine, replica: Replica
) -> None:
    """Both have the same date: Monday, day 14."""
    store(engine, dag("weekly"))
    settle(engine, replica, 8)
    backfill(engine, 13)

    settle(engine, replica, 22)

    assert spans(engine) == {(0, 7), (14, 21)}
    assert records(engine) == [(7, 14, "conflict")]


def test_runs_of_two_schedules_that_begin_together_have_names_of_their_own(
    engine: Engine, replica: Replica
) -> None:
    store(engine, dag("daily"))
    settle(engine, replica, 8)
    store(engine, dag("rolling"))
    settle(engine, replica, 9)

    with engine.connect() as conn:
        named = text("SELECT run_id FROM dag_run WHERE interval_end = :end")
        [name] = conn.scalars(named, {"end": at(9)})
    assert name == "scheduled__2024-01-03T00:00:00+00:00__2024-01-10T00:00:00+00:00"
