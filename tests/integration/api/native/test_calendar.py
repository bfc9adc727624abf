"""The calendar and the timetable of a DAG."""

from dataclasses import replace

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import V1, Clients, move, sql

from headway.domain.dag.spec import DagSpec
from headway.testing.data import seed

CALENDAR = f"{V1}/dags/etl/calendar"
TIMETABLE = f"{V1}/dags/etl/timetable"
JANUARY = {"from": "2024-01-01", "to": "2024-01-31"}


def in_zone(zone: str) -> DagSpec:
    return replace(seed.dag(), timezone=zone)


def test_runs_are_counted_by_day_and_state(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(), 0)
    version = seed.store(api.engine, seed.dag())
    seed.create_runs(api.engine, version, [1, 40])

    shown = admin.get(CALENDAR, params=JANUARY).json()

    days = {it["day"]: it["runs"] for it in shown["days"] if it["runs"]}
    assert days == {"2024-01-02": {"running": 1}, "2024-01-03": {"queued": 1}}
    assert (shown["timezone"], shown["paused"]) == ("UTC", False)


def test_days_are_those_of_the_zone(api: Api, admin: TestClient) -> None:
    version = seed.store(api.engine, in_zone("America/New_York"))
    seed.create_runs(api.engine, version, [0])

    own = admin.get(CALENDAR, params=JANUARY).json()
    utc = admin.get(CALENDAR, params={**JANUARY, "zone": "UTC"}).json()
    wrong = admin.get(CALENDAR, params={**JANUARY, "zone": "Mars/Olympus"})

    assert [it["day"] for it in own["days"] if it["runs"]] == ["2024-01-01"]
    assert [it["day"] for it in utc["days"] if it["runs"]] == ["2024-01-02"]
    assert wrong.status_code == 400


def test_runs_to_come_are_counted_with_those_that_are_due(api: Api, admin: TestClient) -> None:
    version = seed.store(api.engine, seed.dag())
    seed.create_runs(api.engine, version, [0])

    shown = admin.get(CALENDAR, params=JANUARY).json()

    planned = [it["day"] for it in shown["days"] if it["planned"]]
    assert planned == [f"2024-01-{day:02}" for day in range(3, 32)]
    assert shown["planned_until"] is None


def test_skipped_intervals_are_shown_with_the_reason(api: Api, admin: TestClient) -> None:
    seed.store(api.engine, seed.dag())
    sql(
        api.engine,
        "INSERT INTO skipped_interval (dag_id, schedule_date, first_start, interval_start,"
        " interval_end, reason) VALUES ('etl', '2024-01-05Z', '2024-01-02Z', '2024-01-04Z',"
        " '2024-01-05Z', 'window'), ('etl', '2025-01-05Z', '2025-01-04Z', '2025-01-04Z',"
        " '2025-01-05Z', 'overlap')",
    )

    shown = admin.get(CALENDAR, params=JANUARY).json()

    assert shown["skipped"] == [
        {
            "first_start": "2024-01-02T00:00:00Z",
            "last_start": "2024-01-04T00:00:00Z",
            "interval_end": "2024-01-05T00:00:00Z",
            "schedule_date": "2024-01-05T00:00:00Z",
            "reason": "window",
            "run_id": None,
        }
    ]
    assert shown["skipped_all"] is True


def test_a_dag_that_no_file_defines_any_more_has_its_history(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag())
    sql(api.engine, "UPDATE dag SET active = false")

    shown = admin.get(CALENDAR, params=JANUARY).json()

    assert [it["day"] for it in shown["days"]] == ["2024-01-02"]


@pytest.mark.parametrize(
    "given",
    [
        {"from": "2024-01-02", "to": "2024-01-01"},
        {"from": "2000-01-01", "to": "2024-01-01"},
        {"from": "2024-01-01"},
        {"from": "yesterday", "to": "2024-01-01"},
    ],
)
def test_a_calendar_has_days_in_order_and_not_too_many(
    api: Api, admin: TestClient, given: dict[str, str]
) -> None:
    seed.store(api.engine, seed.dag())

    assert admin.get(CALENDAR, params=given).status_code == 422


def test_the_timetable_shows_the_runs_about_a_time_and_the_change_of_the_clocks(
    api: Api, admin: TestClient
) -> None:
    seed.store(api.engine, in_zone("Europe/Paris"))
    around = {"from": "2024-03-30T00:00:00Z", "to": "2024-03-31T00:00:00Z"}

    shown = admin.get(TIMETABLE, params=around).json()

    assert [run["interval_start"] for run in shown["runs"]] == [
        "2024-03-30T00:00:00Z",
        "2024-03-31T00:00:00Z",
    ]
    assert "gap: 2024-03-31 02:00 to 03:00 is skipped" in shown["runs"][1]["notes"]
    assert shown["timezone"] == "Europe/Paris"


def test_the_timetable_keeps_within_the_dates_of_the_dag(api: Api, admin: TestClient) -> None:
    seed.store(api.engine, seed.dag())
    before = {"from": "2023-12-01T00:00:00Z", "to": "2024-01-01T00:00:00Z"}
    long = {"from": "2023-01-01T00:00:00Z", "to": "2023-02-01T00:00:00Z"}

    shown = admin.get(TIMETABLE, params=before).json()

    assert [run["interval_start"] for run in shown["runs"]] == ["2024-01-01T00:00:00Z"]
    assert admin.get(TIMETABLE, params=long).json()["runs"] == []


def test_without_dates_the_timetable_shows_the_next_runs(api: Api, admin: TestClient) -> None:
    version = seed.store(api.engine, seed.dag())
    seed.create_runs(api.engine, version, [0])

    shown = admin.get(TIMETABLE, params={"limit": 2}).json()

    assert [run["interval_start"][:10] for run in shown["runs"]] == ["2024-01-02", "2024-01-03"]
    assert admin.get(TIMETABLE, params={"from": "2024-01-01T00:00:00Z"}).status_code == 422


@pytest.mark.parametrize("path", [CALENDAR, TIMETABLE])
def test_the_schedule_of_another_bundle_is_not_there(api: Api, clients: Clients, path: str) -> None:
    given = JANUARY if path == CALENDAR else {}
    seed.store(api.engine, seed.dag())

    hidden = clients.limited.get(path, params=given)
    unknown = clients.admin.get(path.replace("etl", "none"), params=given)
    move(api.engine, "etl", "mine")
    shown = clients.limited.get(path, params=given)

    assert (hidden.status_code, unknown.status_code, shown.status_code) == (404, 404, 200)
    with api.engine.connect() as conn:
        assert conn.scalar(text("SELECT count(*) FROM dag_run")) == 0
