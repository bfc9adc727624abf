"""A session is ended for certain when its server refuses it, whatever happens on the way."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.connect.session")

from pyspark.errors import PySparkException
from pyspark.sql.connect.proto import GetStatusResponse

from headway_worker.spark.session import session as module
from headway_worker.spark.target.endpoint import ConnectEndpoint
from headway_worker.spark.target.errors import SparkError

ENDPOINT = ConnectEndpoint("sc://localhost:1", "token")
STATES = GetStatusResponse.OperationStatus
CLOSED = "[INVALID_HANDLE.SESSION_CLOSED] The handle is invalid."


class Client:
    """A client of a server that does what the test says, step by step."""

    def __init__(self, *states: int, release: str | None = None, closes: bool = True) -> None:
        self.states: Iterator[int] = iter(states)
        self.release, self.closes, self.told = release, closes, list[str]()
        self.closed = self.is_released = False

    def set_retry_policies(self, _policies: object) -> None:
        pass

    def interrupt_all(self) -> None:
        self.told.append("interrupt")
        if self.is_released and self.closes:
            raise PySparkException(CLOSED)

    def _get_operation_statuses(self) -> Any:
        self.told.append("look")
        state = next(self.states, STATES.OPERATION_STATE_CANCELLED)
        return SimpleNamespace(operation_statuses=[SimpleNamespace(state=state)])

    def release_session(self) -> None:
        self.told.append("release")
        self.is_released = True
        if self.release:
            raise PySparkException(self.release)

    def close(self) -> None:
        self.closed = True


def release(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(module, "SparkConnectClient", lambda _channel: client)
    try:
        module.release_session(ENDPOINT, "11111111-1111-4111-8111-111111111111")
    finally:
        assert client.closed
    return client.told


def test_it_is_released_once_its_operations_have_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(STATES.OPERATION_STATE_RUNNING, STATES.OPERATION_STATE_TERMINATING)

    told = release(client, monkeypatch)

    assert told == ["interrupt", "look", "look", "look", "release", "interrupt"]


def test_an_error_of_the_release_does_not_count_when_the_session_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert release(Client(release="ILLEGAL_STATE"), monkeypatch)[-1] == "interrupt"


def test_a_session_that_is_still_served_is_not_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SparkError, match="was released and still answers"):
        release(Client(closes=False), monkeypatch)


def test_a_session_that_is_closed_already_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()
    client.is_released = True

    assert release(client, monkeypatch) == ["interrupt"]


def test_an_operation_that_goes_on_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_END_SECONDS", 0.0)
    client = Client(*[STATES.OPERATION_STATE_RUNNING] * 100)

    with pytest.raises(SparkError, match="goes on though it was interrupted"):
        release(client, monkeypatch)


def test_a_server_that_knows_no_statuses_is_not_asked_for_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client: Any = Client()

    def refuse() -> None:
        raise PySparkException("UNIMPLEMENTED")

    client._get_operation_statuses = refuse

    assert release(client, monkeypatch) == ["interrupt", "release", "interrupt"]


def test_a_server_that_does_not_answer_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    client: Any = Client()

    def refuse() -> None:
        raise PySparkException("connection refused")

    client.interrupt_all = refuse

    with pytest.raises(SparkError, match="Cannot end Spark session"):
        release(client, monkeypatch)
