"""A backfill by its form: the plan is shown date by date, and done as it was shown."""

import re
from dataclasses import replace

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.pages.conftest import HTML

from headway.domain.accounts import AccountRole
from headway.domain.dag.spec import TimetableSpec
from headway.testing.data import seed

ASKED = "dag=etl&since=2024-01-01&until=2024-01-05"


@pytest.fixture
def operator(api: Api) -> TestClient:
    """A browser of an operator, beside a DAG whose second day has a run."""
    seed.start_run(api.engine, seed.dag(seed.task("a")), day=1)
    client = api.client(api.token("olga", AccountRole.OPERATOR))
    client.headers.update(HTML)
    return client


def hidden(page: str) -> dict[str, str]:
    """Return the hidden fields of the form that creates what is shown."""
    return dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page))


def backfills(api: Api) -> int:
    with api.engine.connect() as conn:
        return int(conn.execute(text("SELECT count(*) FROM backfill")).scalar_one())


def test_the_plan_says_what_becomes_of_each_date(api: Api, operator: TestClient) -> None:
    page = operator.get(f"/backfills/new?{ASKED}").text

    assert (
        "4 new runs. Of 5 dates: 4 get a new run, 1 have another run in the way."
        in page.replace("\n", " ")
    )
    assert page.count('class="day d-create"') == 4 + 1  # and the legend
    assert "2024-01-02 00:00: conflict" in page
    assert backfills(api) == 0


def test_the_plan_that_was_shown_is_created(api: Api, operator: TestClient) -> None:
    form = {**hidden(operator.get(f"/backfills/new?{ASKED}").text), "reason": "late data"}

    answer = operator.post("/backfills/new", data=form, follow_redirects=False)

    assert answer.status_code == 303
    page = operator.get(answer.headers["location"]).text
    assert "of 4 have ended" in page
    assert "late data" in operator.get("/journal?dag=etl").text


def test_another_plan_than_the_one_shown_is_not_created(api: Api, operator: TestClient) -> None:
    form = hidden(operator.get(f"/backfills/new?{ASKED}").text)
    seed.start_run(api.engine, seed.dag(seed.task("a")), day=2)

    page = operator.post("/backfills/new", data=form).text

    assert "The plan is another one by now, and nothing is created." in page
    assert "3 new runs" in page
    assert backfills(api) == 0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("&rollup=x", "Intervals a run is a whole number"),
        ("&direction=sideways", "direction is one of forward, backward."),
        ("&conf=[]", "The conf is a JSON object"),
        ("&since=yesterday", "is no date"),
        ("&weight=0", "A weight is a percentage"),
        ("&dag=none", "There is no DAG"),
    ],
)
def test_what_is_not_understood_is_said_beside_the_form(
    operator: TestClient, more: str, said: str
) -> None:
    name = more.lstrip("&").partition("=")[0]
    kept = "&".join(pair for pair in ASKED.split("&") if not pair.startswith(f"{name}="))
    answer = operator.get(f"/backfills/new?{kept}{more}")
    assert answer.status_code == 200
    assert said in answer.text
    assert 'name="dag"' in answer.text


def test_nothing_is_planned_before_there_is_enough(operator: TestClient) -> None:
    page = operator.get("/backfills/new?dag=etl").text
    assert 'id="plan"' not in page
    assert 'role="alert"' not in page


def test_single_dates_are_backfilled(operator: TestClient) -> None:
    page = operator.get("/backfills/new?dag=etl&dates=2024-01-03,+2024-01-05").text
    assert "2 new runs. Of 2 dates: 2 get a new run." in page.replace("\n", " ")


def test_days_are_those_of_the_dags_time_zone(api: Api, operator: TestClient) -> None:
    zone = "America/New_York"
    midnight = TimetableSpec(name="cron", arguments={"cron": "0 0 * * *", "timezone": zone})
    seed.store(api.engine, replace(seed.dag(dag_id="ny"), timezone=zone, timetable=midnight))

    page = operator.get("/backfills/new?dag=ny&since=2024-01-03&until=2024-01-03").text

    assert "1 new run. Of 1 date: 1 get a new run." in page.replace("\n", " ")
    assert "2024-01-03 05:00: create" in page


def test_a_viewer_and_who_sees_other_bundles_create_none(
    api: Api, operator: TestClient, viewer: TestClient
) -> None:
    form = hidden(operator.get(f"/backfills/new?{ASKED}").text)
    limited = api.client(api.token("otto", AccountRole.OPERATOR, ("mine",)))
    limited.headers.update(HTML)

    assert viewer.get(f"/backfills/new?{ASKED}").status_code == 403
    assert viewer.post("/backfills/new", data=form).status_code == 403
    assert "There is no DAG" in limited.get(f"/backfills/new?{ASKED}").text
    assert "There is no DAG" in limited.post("/backfills/new", data=form).text
    assert backfills(api) == 0


def test_another_plan_with_the_same_numbers_is_not_created(api: Api, operator: TestClient) -> None:
    form = hidden(operator.get(f"/backfills/new?{ASKED}").text)
    with api.engine.begin() as conn:
        conn.execute(text("ALTER TABLE dag_run DISABLE TRIGGER USER"))
        conn.execute(text("DELETE FROM task_instance"))
        conn.execute(text("DELETE FROM dag_run"))
    seed.start_run(api.engine, seed.dag(seed.task("a")), day=3)

    assert "The plan is another one by now" in operator.post("/backfills/new", data=form).text


def test_a_backfill_of_another_bundle_is_not_told_of(api: Api, operator: TestClient) -> None:
    form = hidden(operator.get(f"/backfills/new?{ASKED}").text)
    made = operator.post("/backfills/new", data=form, follow_redirects=False)
    limited = api.client(api.token("otto", AccountRole.OPERATOR, ("mine",)))
    limited.headers.update(HTML)

    for answer in (
        limited.get(made.headers["location"] + "/pause"),
        limited.post(made.headers["location"] + "/pause", data={}),
    ):
        assert answer.status_code == 404
        assert "etl" not in answer.text


def test_a_paused_backfill_needs_a_person(operator: TestClient) -> None:
    form = hidden(operator.get(f"/backfills/new?{ASKED}").text)
    made = operator.post("/backfills/new", data=form, follow_redirects=False)
    operator.post(made.headers["location"] + "/pause", data={})

    assert "Backfills that are paused" in operator.get("/").text
