"""What pages list, as CSV and JSON: the same rows, all of them, with no name twice."""

import csv
from io import StringIO

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, move

from headway.testing.data import seed

LISTS = ("dags", "runs", "journal", "backfills", "deadlines", "cost")


@pytest.fixture
def runs(api: Api) -> None:
    for day in range(3):
        seed.start_run(api.engine, seed.dag(seed.task("a")), day)
    seed.finish(api.engine)


@pytest.mark.parametrize("name", LISTS)
def test_every_list_has_both_forms(runs: None, viewer: TestClient, name: str) -> None:
    as_csv, as_json = viewer.get(f"/{name}.csv"), viewer.get(f"/{name}.json")
    assert as_csv.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(StringIO(as_csv.text)))
    assert len(rows) == len(as_json.json()["rows"])
    header = as_csv.text.splitlines()[0].split(",")
    assert len(set(header)) == len(header)


def test_the_rows_are_those_of_the_page(runs: None, viewer: TestClient) -> None:
    found = list(csv.DictReader(StringIO(viewer.get("/runs.csv?dag=etl").text)))
    assert len(found) == 3
    page = viewer.get("/runs?dag=etl").text
    assert [page.index(f">{row['run_id']}<") for row in found] == sorted(
        page.index(f">{row['run_id']}<") for row in found
    )
    assert list(csv.DictReader(StringIO(viewer.get("/runs.csv?dag=none").text))) == []


def test_a_page_of_runs_leads_to_both_forms(runs: None, viewer: TestClient) -> None:
    page = viewer.get("/runs?dag=etl&tz=utc&cursor=").text
    assert 'href="/runs.csv?dag=etl"' in page
    assert 'href="/runs.json?dag=etl"' in page
    assert viewer.get("/runs.xml").status_code == 422


def test_other_bundles_are_left_out(api: Api, runs: None, limited: TestClient) -> None:
    move(api.engine, "etl", "theirs")
    assert RUN not in limited.get("/runs.csv").text
    move(api.engine, "etl", "mine")
    assert RUN in limited.get("/runs.csv").text
