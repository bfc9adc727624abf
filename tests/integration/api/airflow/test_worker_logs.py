"""Logs on the machine of a worker, which its HTTP port serves to the API."""

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from threading import Thread

import pytest
from sqlalchemy import Engine, text
from starlette.testclient import TestClient

from headway.metrics.exposition import Exposition
from headway.metrics.metric import ServiceKind
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.health import Health
from headway.runtime.health.server import HealthServer, page_of
from headway.runtime.logs.lines import LogLine, LogSource, encode
from headway.runtime.logs.paths import LogKey, logs_folder
from headway.runtime.logs.reading import LocalLogs
from headway.runtime.secrets.keyring import KeyRing, new_key
from headway.runtime.settings import secret_keys
from headway.runtime.settings.configuration import make_home
from headway.testing.data import seed
from headway_worker.logs.serving import LogPages

RUN = "scheduled__2024-01-01T00:00:00+00:00"
KEY = LogKey("etl", RUN, "work", -1, 1)
PATH = f"/api/v2/dags/etl/dagRuns/{RUN}/taskInstances/work/logs/1"


def line(message: str) -> bytes:
    return encode(LogLine(time="2024-01-02T03:04:05Z", source=LogSource.STDOUT, message=message))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log on the worker's machine."""
    file = logs_folder(tmp_path / "worker") / KEY.relative
    file.parent.mkdir(parents=True)
    file.write_bytes(line("far away"))
    return file


@pytest.fixture
def serve(tmp_path: Path, engine: Engine) -> Iterator[Callable[..., str]]:
    """Have a worker of the attempt serve its logs, with the keys of the API or with others."""
    secret_keys.make_keys_file(make_home(tmp_path / "home"))
    seed.running(engine, seed.dag())
    started: list[HealthServer] = []

    def begin(keys: Callable[[], KeyRing] = secret_keys.keys) -> str:
        health = Health(Bell(), SystemClock())
        health.more = LogPages(LocalLogs(logs_folder(tmp_path / "worker")), keys, SystemClock())
        answer = partial(page_of, health, Exposition(ServiceKind.WORKER))
        server = HealthServer(0, answer, SystemClock())
        started.append(server)
        Thread(target=server.serve_forever, args=[0.05], daemon=True).start()
        address = f"127.0.0.1:{server.port}"
        with engine.begin() as conn:
            conn.execute(text("UPDATE process SET http_address = :address"), {"address": address})
        return address

    yield begin
    for server in started:
        with closing(server):
            pass


def test_a_log_on_another_machine_is_read_from_its_worker(
    log: Path, serve: Callable[..., str], admin: TestClient
) -> None:
    serve()

    answer = admin.get(PATH)

    assert answer.status_code == 200
    assert [each["event"] for each in answer.json()["content"]] == ["far away"]


def test_a_log_that_grows_is_read_on_from_where_it_was_read_to(
    log: Path, serve: Callable[..., str], admin: TestClient
) -> None:
    serve()
    token = admin.get(PATH).json()["continuation_token"]
    with log.open("ab") as file:
        file.write(line("and further"))

    following = admin.get(PATH, params={"token": token}).json()

    assert [each["event"] for each in following["content"]] == ["and further"]


def test_a_long_log_comes_whole_as_text(
    log: Path, serve: Callable[..., str], admin: TestClient
) -> None:
    with log.open("ab") as file:
        file.writelines(line(f"{number} {'x' * 1000}") for number in range(3_000))
    serve()

    answer = admin.get(PATH, headers={"Accept": "text/plain"})

    assert len(answer.text.splitlines()) == 3_001


def test_a_worker_with_other_keys_gives_nothing(
    log: Path, serve: Callable[..., str], admin: TestClient
) -> None:
    serve(lambda: KeyRing((new_key(),)))

    answer = admin.get(PATH)

    assert answer.status_code == 503
    assert "HEADWAY_SECRETS_KEYS" in answer.json()["detail"]


def test_a_worker_that_does_not_answer_is_said_to_do_so(
    serve: Callable[..., str], admin: TestClient, engine: Engine
) -> None:
    serve()
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET http_address = '127.0.0.1:9'"))

    answer = admin.get(PATH)

    assert answer.status_code == 503
    assert "127.0.0.1:9 does not answer" in answer.json()["detail"]


@pytest.mark.usefixtures("log")
def test_a_worker_that_has_ended_is_not_asked(
    serve: Callable[..., str], admin: TestClient, engine: Engine
) -> None:
    serve()
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now()"))

    assert admin.get(PATH).status_code == 404


def test_a_log_that_the_worker_does_not_have_names_its_host(
    serve: Callable[..., str], admin: TestClient
) -> None:
    serve()

    answer = admin.get(PATH)

    assert answer.status_code == 404
    assert "Look on host" in answer.json()["detail"]
