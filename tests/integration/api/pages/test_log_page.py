"""The page of a log, and the stream of the lines that come to it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from starlette.testclient import TestClient
from tests.integration.api.airflow.test_airflow_logs import end, write
from tests.integration.api.conftest import Api

from headway.domain.accounts import AccountRole
from headway.runtime.logs.lines import LogLine, LogSource, encode
from headway.runtime.logs.paths import LogKey, logs_folder
from headway.testing.data import seed
from headway_api.pages.frame import addresses

RUN = "scheduled__2024-01-01T00:00:00+00:00"
KEY = LogKey("etl", RUN, "work", -1, 1)
PAGE = f"/dags/etl/runs/{RUN}/tasks/work/attempts/1/log"


def line(number: int) -> bytes:
    time = "2024-01-02T03:04:05.678Z"
    return encode(LogLine(time=time, source=LogSource.STDOUT, message=f"line {number}"))


@pytest.fixture
def log(engine: Engine, tmp_path: Path) -> Path:
    """The log of an attempt that runs, with 300 lines."""
    seed.running(engine, seed.dag())
    folder = logs_folder(tmp_path / "home")
    write(folder, [line(number) for number in range(300)])
    return folder / KEY.relative


@pytest.fixture
def one(log: Path, api: Api) -> Iterator[TestClient]:
    """A viewer's browser."""
    with api.client(api.token("vera", AccountRole.VIEWER)) as client:
        client.headers["Accept"] = "text/html"
        yield client


def test_a_page_has_the_end_of_the_log_and_leads_to_what_is_before(one: TestClient) -> None:
    page = one.get(PAGE).text
    assert "line 299" in page
    assert "line 219<" not in page
    size, start = len(line(0)), page.split("before=")[1].split('"')[0]
    before = one.get(PAGE, params={"before": start}).text
    assert "line 219<" in before
    assert "line 220<" not in before
    assert int(start) == sum(len(line(number)) for number in range(220)) > size


def test_the_link_of_a_line_shows_it_first(one: TestClient) -> None:
    at = sum(len(line(number)) for number in range(40))
    assert f"from={at}#b{at}" in one.get(PAGE, params={"before": at + 400}).text
    page = one.get(PAGE, params={"from": at}).text
    assert "line 40<" in page
    assert "line 39<" not in page
    assert "Later lines" in page


def test_a_search_shows_the_lines_with_a_text(one: TestClient) -> None:
    page = one.get(PAGE, params={"q": "LINE 123"}).text
    assert page.count("<li id=") == 1
    assert 'value="LINE 123"' in page
    assert "has “nowhere”" in one.get(PAGE, params={"q": "nowhere"}).text


def test_kinds_of_lines_can_be_chosen(log: Path, one: TestClient) -> None:
    with log.open("ab") as file:
        time = "2024-01-02T03:04:05.678Z"
        file.write(encode(LogLine(time=time, source=LogSource.STDERR, message="oh")))
        file.write(encode(LogLine(time=time, source=LogSource.LOG, level="ERROR", message="no")))
    page = one.get(PAGE, params={"only": ["stderr", "error"]}).text
    assert page.count("<li id=") == 2
    assert page.count(" checked") == 2
    assert "data-stream" not in page
    assert one.get(PAGE, params={"only": ["error"], "q": "NO"}).text.count("<li id=") == 1
    empty = one.get(PAGE, params={"only": ["warning"], "q": "line"}).text
    assert "has “line” and is of warning." in empty
    assert one.get(PAGE, params={"only": "loud"}).status_code == 422


def test_only_the_end_of_a_log_that_grows_is_followed(
    one: TestClient, engine: Engine, log: Path
) -> None:
    place = addresses.log("etl", RUN, "work", -1, 1)
    stream = addresses.log_stream(place, log.stat().st_size)
    assert f'data-stream="{stream}"' in one.get(PAGE).text
    assert "data-stream" not in one.get(PAGE, params={"from": 0}).text
    assert "data-runs" in one.get(PAGE, params={"from": 0}).text
    end(engine)
    assert "data-stream" not in one.get(PAGE).text
    assert "data-runs" not in one.get(PAGE).text


def test_nobody_follows_the_log_of_an_attempt_that_has_ended(
    one: TestClient, engine: Engine
) -> None:
    end(engine)
    assert one.get(f"{PAGE}/stream").status_code == 204


def test_a_stream_is_for_who_may_see_the_log(one: TestClient, api: Api) -> None:
    with api.client(api.token("lena", AccountRole.VIEWER, ("mine",))) as limited:
        assert limited.get(f"{PAGE}/stream").status_code in {403, 404}


def test_a_search_finds_what_is_said_and_not_how_it_is_stored(log: Path, one: TestClient) -> None:
    with log.open("ab") as file:
        time = "2024-01-02T03:04:05.678Z"
        file.write(encode(LogLine(time=time, source=LogSource.STDOUT, message="grün und Ärger")))
    assert "No line of" in one.get(PAGE, params={"q": "stdout"}).text
    for text in ("GRÜN", "ärger", "Ärger"):
        assert "grün und Ärger" in one.get(PAGE, params={"q": text}).text
