"""Lists as CSV and as NDJSON: whole, in pieces, and within the bundles."""

import csv
import json
from io import StringIO
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import V1, Clients, move, sql

from headway.testing.data import seed
from headway_api.http import lists

CALLBACKS = f"{V1}/callbacks"


@pytest.fixture
def called(api: Api) -> Api:
    """25 callbacks of one run."""
    seed.start_run(api.engine, seed.dag())
    sql(
        api.engine,
        "INSERT INTO callback (dag_run_id, event, reason, error) "
        "SELECT id, 'success', 'a \"b\", c', 'line 1' || chr(10) || n "
        "FROM dag_run CROSS JOIN generate_series(1, 25) AS n",
    )
    return api


def lines(client: TestClient, **given: Any) -> list[dict[str, Any]]:
    answer = client.get(CALLBACKS, params={"format": "ndjson", **given})
    assert answer.headers["content-type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def test_ndjson_has_all_rows_as_pages_have_them(
    called: Api, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "MOST_ROWS", 10)

    page = admin.get(CALLBACKS, params={"limit": 100}).json()["rows"]

    assert lines(admin) == page
    assert len(page) == 25


def test_csv_has_all_rows_and_a_header(
    called: Api, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "MOST_ROWS", 10)
    page = admin.get(CALLBACKS).json()["rows"]

    answer = admin.get(CALLBACKS, headers={"Accept": "text/csv"})

    assert answer.headers["content-type"].startswith("text/csv")
    found = list(csv.DictReader(StringIO(answer.text, newline="")))
    assert [row["callback"] for row in found] == [str(row["callback"]) for row in page]
    assert found[0]["reason"] == 'a "b", c'
    assert found[0]["error"] == page[0]["error"]
    assert found[0]["task_id"] == ""


def test_a_stream_ends_after_as_many_rows_as_are_asked_for(
    called: Api, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "MOST_ROWS", 10)

    assert len(lines(admin, limit=12)) == 12
    assert len(lines(admin, limit=3)) == 3


def test_a_stream_has_no_more_than_a_million_rows(
    called: Api, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "MOST_ROWS", 10)
    monkeypatch.setattr(lists, "MOST_STREAMED", 20)

    assert len(lines(admin)) == 20
    assert admin.get(CALLBACKS, params={"limit": 1_000_001}).status_code == 422


def test_a_stream_goes_on_after_a_cursor(called: Api, admin: TestClient) -> None:
    first = admin.get(CALLBACKS, params={"limit": 20}).json()

    assert len(lines(admin, cursor=first["next_cursor"])) == 5


def test_an_error_at_the_first_row_has_its_status(called: Api, clients: Clients) -> None:
    given = {"format": "csv", "dag_id": "none"}

    answer = clients.admin.get(CALLBACKS, params=given)
    malformed = clients.admin.get(CALLBACKS, params={"format": "csv", "cursor": "x"})
    too_many = clients.admin.get(CALLBACKS, params={"limit": 5_000})

    assert (answer.status_code, answer.json()["code"]) == (404, "dag_not_found")
    assert (malformed.status_code, too_many.status_code) == (422, 422)
    assert clients.admin.get(CALLBACKS, params={"format": "xml"}).status_code == 422


def test_a_stream_is_within_the_bundles(called: Api, clients: Clients) -> None:
    hidden = lines(clients.limited)
    move(called.engine, "etl", "mine")

    assert hidden == []
    assert len(lines(clients.limited)) == 25
