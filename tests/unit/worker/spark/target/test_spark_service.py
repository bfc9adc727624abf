"""Where attempts are sent, and that those which have left take no place."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Claimed
from headway.domain.connection import Connection
from headway.domain.errors import EmbeddedError, HeadwayError, SecretError
from headway.runtime.forker import ForkerError
from headway.runtime.masking import Masker
from headway.runtime.settings.worker import WorkerSettings
from headway.testing.data import claims
from headway.testing.time.clock import FakeClock
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings
from headway_worker.spark.service import spark_service as module
from headway_worker.spark.service.spark_service import SparkService
from headway_worker.spark.target.connection import SparkKind
from headway_worker.spark.target.endpoint import ConnectEndpoint

CONNECTIONS = {"lake": "sc://localhost:7/;token=t", "cluster": "spark://master"}


def granted(_claimed: Claimed, conn_id: str) -> Connection | None:
    text = CONNECTIONS.get(conn_id)
    return None if text is None else Connection.from_text(conn_id, text)


@dataclass
class Berths:
    """A fleet of one server, which is there at once."""

    present: list[Any] = field(default_factory=list)
    masker: Masker = field(default_factory=Masker)
    killed: int = 0
    stopped: int = 0
    may_stop: Event = field(default_factory=Event)

    def mask(self, masker: Masker) -> None:
        self.masker.adopt(masker)

    def board(self, key: Any) -> "Berths":
        self.present.append(key)
        return self

    def wait_ready(self, _seconds: float) -> ConnectEndpoint:
        return ConnectEndpoint("sc://localhost:1", "token", process="boot/1/2")

    def python_of(self, mark: str) -> str:
        return f"/python-{mark}"

    def kill(self) -> None:
        self.killed += 1

    def stop(self, grace: float) -> None:
        assert grace == 0
        self.may_stop.wait(60)
        self.stopped += 1

    def close(self, grace: float) -> None:
        pass

    def leave(self, key: Any) -> None:
        if key in self.present:
            self.present.remove(key)

    def of(self, key: Any) -> Any:
        return self if key in self.present else None


@pytest.fixture
def claimed(keys: list[AttemptKey]) -> Claimed:
    return claims.claimed(key=keys[0])


@pytest.fixture
def slots() -> Berths:
    return Berths()


@pytest.fixture
def spark(
    worker_settings: WorkerSettings,
    tmp_path: Path,
    slots: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> SparkService:
    monkeypatch.setattr(module, "find_java_home", lambda *_: Path("/java"))
    made = SparkService(worker_settings, {}, tmp_path, granted)
    made._fleet = slots
    return made


def test_its_own_server_is_what_the_settings_say_and_keeps_a_log_that_the_worker_reads(
    worker_settings: WorkerSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[ServerSettings] = []
    monkeypatch.setattr(module, "find_java_home", lambda *_: Path("/java"))
    monkeypatch.setattr(ConnectServer, "start", started.append)
    mine = {"spark.sql.shuffle.partitions": "8", "spark.eventLog.enabled": "false"}
    update = {"spark_conf": mine, "spark_master": "local[7]", "spark_driver_memory": "3g"}
    given = worker_settings.model_copy(update=update)

    SparkService(given, {"A": "b"}, tmp_path, granted)._start_server()

    (server,) = started
    assert (server.master, server.driver_memory, server.environment) == (
        *("local[7]", "3g"),
        {"A": "b"},
    )
    assert server.conf["spark.sql.shuffle.partitions"] == "8"
    assert server.conf["spark.eventLog.enabled"] == "true"
    assert server.java_options == tuple(given.spark_java_options.split())


@pytest.mark.regression
def test_nobody_waits_for_the_end_of_a_server_that_is_killed(
    spark: SparkService, slots: Berths, claimed: Claimed
) -> None:
    """The worker's supervisor kills it, which must go on renewing leases."""
    spark.locate(claimed, "spark_default", for_session=True)

    spark.kill_server(claimed.key)
    spark.kill_server(claimed.key)

    assert (slots.killed, slots.stopped) == (2, 0)
    slots.may_stop.set()
    spark.close()
    assert slots.stopped == 1


def test_the_default_is_a_server_of_the_workers_own(
    spark: SparkService, slots: Berths, claimed: Claimed
) -> None:
    where = spark.locate(claimed, "spark_default", for_session=True)

    python = slots.python_of(f"{claimed.key.task_instance_id}-{claimed.key.attempt}")
    assert where.endpoint == replace(slots.wait_ready(0), python=python)
    assert (where.java_home, where.master) == (Path("/java"), "local[2]")
    assert slots.present == [claimed.key]
    assert spark.is_own(claimed.key)
    assert not spark.is_gone(claimed.key)
    spark.leave(claimed.key)
    assert slots.present == []
    assert spark.is_gone(claimed.key)


def test_what_was_on_a_server_that_has_died_is_gone(
    spark: SparkService, slots: Berths, claimed: Claimed
) -> None:
    spark.locate(claimed, "spark_default", for_session=True)
    slots.present.clear()

    assert spark.is_gone(claimed.key)


def test_a_server_masks_what_those_on_it_were_given(
    spark: SparkService, slots: Berths, claimed: Claimed
) -> None:
    given = Masker()
    given.prepare("canary")
    spark.mask(claimed.key, given)
    assert slots.masker.mask("canary") == "canary"

    spark.locate(claimed, "spark_default", for_session=True)
    spark.mask(claimed.key, given)

    assert slots.masker.mask("canary") == "***"


def test_no_server_starts_for_who_wants_no_session(
    spark: SparkService, slots: Berths, claimed: Claimed
) -> None:
    where = spark.locate(claimed, "spark_default", for_session=False)

    assert (where.endpoint, slots.present) == (None, [])


def test_a_server_elsewhere_needs_nothing_of_this_machine(
    spark: SparkService, slots: Berths, claimed: Claimed
) -> None:
    where = spark.locate(claimed, "lake", for_session=True)

    assert where.endpoint == ConnectEndpoint("sc://localhost:7", "t")
    assert (where.java_home, slots.present) == (None, [])
    assert not spark.is_own(claimed.key)
    assert not spark.is_gone(claimed.key)


def test_a_cluster_gives_no_session(spark: SparkService, claimed: Claimed) -> None:
    where = spark.locate(claimed, "cluster", for_session=True)

    assert (where.connection.kind, where.endpoint) == (SparkKind.CLUSTER, None)
    assert where.connection.master == "spark://master:7077"


def test_a_connection_that_is_not_there_is_refused(spark: SparkService, claimed: Claimed) -> None:
    with pytest.raises(SecretError, match="'sea' cannot be used"):
        spark.locate(claimed, "sea", for_session=True)


def test_where_to_go_travels_as_plain_data(spark: SparkService, claimed: Claimed) -> None:
    from headway_worker.spark.target.target import SparkTarget

    for conn_id in ("spark_default", "lake", "cluster"):
        where = spark.locate(claimed, conn_id, for_session=True)
        assert SparkTarget.from_frame(where.to_frame()) == where
        assert where != replace(where, master="other")


@dataclass
class Start:
    """The start of a fork server: it fails with `error`, or gives one that is alive or not."""

    error: HeadwayError | None = None
    is_alive: bool = True
    times: int = 0

    def __call__(self, *_: Any) -> "Start":
        self.times += 1
        if self.error is not None:
            raise self.error
        return self

    def alive(self) -> bool:
        return self.is_alive


@dataclass
class Later:
    """A thread that does what it was given when the test says so."""

    given: list[tuple["Future[None]", Callable[[], None]]] = field(default_factory=list)

    def submit(self, call: Callable[[], None]) -> "Future[None]":
        self.given.append((Future(), call))
        return self.given[-1][0]

    def work(self) -> None:
        while self.given:
            future, call = self.given.pop(0)
            try:
                future.set_result(call())
            except HeadwayError as error:
                future.set_exception(error)


@pytest.fixture
def start(monkeypatch: pytest.MonkeyPatch) -> Start:
    made = Start()
    monkeypatch.setattr(module, "spark_home", lambda: Path("/spark"))
    monkeypatch.setattr(module, "spark_fork_server", made)
    return made


@pytest.mark.parametrize("error", [EmbeddedError("no PySpark"), ForkerError("no answer")])
def test_a_fork_server_that_cannot_start_is_no_reason_to_wait(
    spark: SparkService, start: Start, error: HeadwayError
) -> None:
    later: Any = Later()
    spark._threads, spark.clock, start.error = later, FakeClock(), error
    assert not spark.forker_ready()
    later.work()

    assert [spark.forker_ready() for _ in range(3)] == [True] * 3
    with pytest.raises(type(error), match=str(error)):
        spark.forker()
    with pytest.raises(type(error), match=str(error)):
        spark.await_forker()
    assert start.times == 1


def test_a_fork_server_that_could_not_start_is_started_after_a_pause(
    spark: SparkService, start: Start
) -> None:
    later: Any = Later()
    clock = FakeClock()
    spark._threads, spark.clock, start.error = later, clock, ForkerError("no answer")
    for pause in (2, 4):
        assert not spark.forker_ready()
        later.work()
        clock.advance(pause - 0.1)
        assert spark.forker_ready()
        clock.advance(0.1)
    start.error = None

    assert not spark.forker_ready()
    later.work()

    assert spark.forker_ready()
    assert spark.forker() is start  # type: ignore[comparison-overlap]


def test_a_fork_server_that_has_died_is_replaced_at_once(spark: SparkService, start: Start) -> None:
    later: Any = Later()
    spark._threads, spark.clock = later, FakeClock()
    spark.forker_ready()
    later.work()
    assert spark.forker_ready()

    start.is_alive = False

    assert not spark.forker_ready()
    later.work()
    assert start.times == 2
