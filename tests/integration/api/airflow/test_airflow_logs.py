"""Logs of attempts through Airflow's client, as it is."""

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from airflow_client.client import ApiClient
from airflow_client.client.api.task_instance_api import TaskInstanceApi
from airflow_client.client.exceptions import ApiException
from airflow_client.client.models.structured_log_message import StructuredLogMessage
from airflow_client.client.models.task_instances_log_response import TaskInstancesLogResponse
from sqlalchemy import Engine, text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api

from headway.db.core.attempt_keys import AttemptKey
from headway.domain.accounts import AccountRole
from headway.domain.states import Outcome
from headway.runtime.logs.lines import LogLine, LogSource, encode
from headway.runtime.logs.paths import LogKey, create_log, logs_folder
from headway.testing.data import seed
from headway_api.airflow.results import log_pieces

RUN = "scheduled__2024-01-01T00:00:00+00:00"
KEY = LogKey("etl", RUN, "work", -1, 1)
PATH = f"/api/v2/dags/etl/dagRuns/{RUN}/taskInstances/work/logs/1"
AT = "2024-01-02T03:04:05.678Z"
LINES = (
    LogLine(time=AT, source=LogSource.STDOUT, message="42 rows"),
    LogLine(time=AT, source=LogSource.LOG, message="\x1b[31mlate", level="WARNING", logger="a.b"),
    LogLine(time=AT, source=LogSource.HEADWAY, message="done", level="INFO", outcome="success"),
)


@pytest.fixture
def attempt(engine: Engine) -> None:
    """An attempt that runs."""
    seed.running(engine, seed.dag())


@pytest.fixture
def home(tmp_path: Path, attempt: None) -> Path:
    return tmp_path / "home"


def write(folder: Path, lines: Sequence[bytes], relative: Path = KEY.relative) -> None:
    with os.fdopen(create_log(folder, relative), "wb") as log:
        log.writelines(lines)


def messages(log: TaskInstancesLogResponse) -> list[StructuredLogMessage]:
    found = log.content.actual_instance
    assert isinstance(found, list)
    return [line for line in found if isinstance(line, StructuredLogMessage)]


def events(log: TaskInstancesLogResponse) -> list[str]:
    return [line.event for line in messages(log)]


def end(engine: Engine) -> None:
    with engine.begin() as conn:
        [key] = [(row.id, row.attempt) for row in conn.execute(text("SELECT * FROM task_instance"))]
        assert key[1] == 1
    with engine.connect() as conn:
        found = conn.execute(text("SELECT task_instance_id, attempt, token FROM task_attempt"))
        keys = [AttemptKey(*row) for row in found]
    assert seed.report(engine, keys, Outcome.SUCCESS)


def test_a_log_is_read_as_data(engine: Engine, home: Path, airflow_client: ApiClient) -> None:
    write(logs_folder(home), [encode(line) for line in LINES])
    end(engine)

    log = TaskInstanceApi(airflow_client).get_log("etl", RUN, "work", 1)
    first, *_ = messages(log)

    assert events(log) == ["42 rows", "\x1b[31mlate", "done"]
    assert first.timestamp == datetime(2024, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
    assert log.continuation_token is None


def test_the_token_goes_on_where_the_log_was_read_to(
    engine: Engine, home: Path, airflow_client: ApiClient
) -> None:
    api, folder = TaskInstanceApi(airflow_client), logs_folder(home)
    write(folder, [encode(LINES[0]), encode(LINES[1])[:-5]])

    first = api.get_log("etl", RUN, "work", 1)
    again = api.get_log("etl", RUN, "work", 1, token=first.continuation_token)
    write(folder, [encode(LINES[1])[-5:], encode(LINES[2])])
    end(engine)
    rest = api.get_log("etl", RUN, "work", 1, token=again.continuation_token)

    assert events(first) == ["42 rows"]
    assert events(again) == []
    assert events(rest) == ["\x1b[31mlate", "done"]
    assert rest.continuation_token is None


def test_a_long_log_is_read_in_pieces_or_with_full_content_at_once(
    engine: Engine, home: Path, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_pieces, "PIECE", 1_000)
    monkeypatch.setattr("headway_api.airflow.results.logs.PIECE", 1_000)
    texts = [f"line {number}" for number in range(200)]
    lines = [LogLine(time=AT, source=LogSource.STDOUT, message=line) for line in texts]
    write(logs_folder(home), [*map(encode, lines), b"cut off"])
    end(engine)

    found, token, answers = [], "0", 0
    while token is not None:
        answer = admin.get(PATH, params={"token": token}).json()
        found += [line["event"] for line in answer["content"]]
        token, answers = answer["continuation_token"], answers + 1
    whole = admin.get(PATH, params={"full_content": True}).json()

    assert found == [*texts, "cut off"]
    assert answers > 5
    assert [line["event"] for line in whole["content"]] == found
    assert whole["continuation_token"] is None
    assert admin.get(PATH, headers={"Accept": "text/plain"}).text.count("\n") == 201


def test_a_log_is_read_as_lines_of_json_and_as_text(home: Path, admin: TestClient) -> None:
    write(logs_folder(home), [encode(line) for line in LINES])

    written = admin.get(PATH, headers={"Accept": "application/x-ndjson"})
    plain = admin.get(PATH, headers={"Accept": "text/plain"})

    lines = [json.loads(line) for line in written.text.splitlines()]
    assert written.headers["content-type"] == "application/x-ndjson"
    assert (lines[0]["event"], lines[0]["source"]) == ("42 rows", "stdout")
    assert (lines[1]["level"], lines[1]["logger"]) == ("WARNING", "a.b")
    assert lines[2]["outcome"] == "success"
    assert plain.headers["content-type"].startswith("text/plain")
    assert plain.text.splitlines() == [
        f"{AT}  42 rows",
        f"{AT}  [WARNING] a.b: late",
        f"{AT}  [headway] done",
    ]


def test_what_a_task_has_written_itself_is_shown_and_breaks_nothing(
    home: Path, admin: TestClient
) -> None:
    forged = b'{"time":"soon","source":"stdout","message":"half \\ud800 pair"}\n'
    write(logs_folder(home), [forged, b"no json \xff\n"])

    content = admin.get(PATH).json()["content"]

    assert [line["event"] for line in content] == ["half \\ud800 pair", "no json \\xff"]
    assert [line["timestamp"] for line in content] == [None, None]


def test_a_log_that_was_copied_is_read_from_there(
    tmp_path: Path, home: Path, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "store"
    monkeypatch.setenv("HEADWAY_LOGS_REMOTE", store.as_uri())
    write(store, [encode(LINES[0])])

    assert admin.get(PATH).json()["content"][0]["event"] == "42 rows"


def test_a_log_of_an_earlier_release_is_found(home: Path, admin: TestClient) -> None:
    write(logs_folder(home), [encode(LINES[0])], KEY.former)

    assert admin.get(PATH).json()["content"][0]["event"] == "42 rows"


@pytest.mark.usefixtures("home")
def test_a_log_that_is_nowhere_names_the_host_that_has_it(airflow_client: ApiClient) -> None:
    with pytest.raises(ApiException) as refused:
        TaskInstanceApi(airflow_client).get_log("etl", RUN, "work", 1)

    problem = json.loads(refused.value.body or "")
    assert (refused.value.status, problem["code"]) == (404, "log_not_found")
    assert "Look on host." in problem["detail"]


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("path", ["logs/2", "logs/1?map_index=3"])
def test_an_attempt_that_has_not_started_has_no_log(admin: TestClient, path: str) -> None:
    answer = admin.get(PATH.replace("logs/1", path))

    assert (answer.status_code, answer.json()["code"]) == (404, "attempt_not_found")


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("token", ["-1", "x", "9" * 20])
def test_a_token_that_is_none_is_refused(admin: TestClient, home: Path, token: str) -> None:
    write(logs_folder(home), [encode(LINES[0])])

    assert admin.get(PATH, params={"token": token}).status_code == 422


def test_a_log_of_another_bundle_is_not_there(home: Path, api: Api) -> None:
    write(logs_folder(home), [encode(LINES[0])])

    client = api.client(api.token("ann", AccountRole.VIEWER, ("other",)))

    assert client.get(PATH).status_code == 404
    assert client.get(PATH).json()["code"] == "dag_not_found"


def test_a_link_in_place_of_a_log_is_not_followed(
    tmp_path: Path, home: Path, admin: TestClient
) -> None:
    (tmp_path / "secret").write_text("canary")
    path = logs_folder(home) / KEY.relative
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "secret")

    answer = admin.get(PATH)

    assert answer.status_code == 503
    assert "canary" not in answer.text
