"""Logs that are copied: when, how often in vain, and what a dead worker has left."""

import io
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Semaphore
from typing import IO, Any

import pytest

from headway.metrics.worker import LOGS_NOT_COPIED
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.logs.copies import RemoteLogs
from headway.runtime.logs.paths import LogKey
from headway.runtime.settings import configuration
from headway.runtime.settings.logs import LogSettings
from headway.testing.metrics.metrics import total
from headway.testing.time.clock import FakeClock, until
from headway_worker.logs.attempt_logs import Logs
from headway_worker.logs.copier import MOST_TRIES, LogKeeper
from headway_worker.logs.spool import LogSpool

ONE, OTHER = Path("dag_id=d/attempt=1.log"), Path("dag_id=d/attempt=2.log")
DAY = 86_400.0


class Store:
    """Copies in memory, by a store that fails as often as it is told."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.puts = failures, 0
        self.copies: dict[Path, bytes] = {}
        self.takes: Callable[[], None] = lambda: None

    def put(self, relative: Path, log: IO[bytes]) -> None:
        self.puts += 1
        if self.failures:
            self.failures -= 1
            raise RuntimeError("the store is away")
        self.takes()
        self.copies[relative] = log.read()


class Scene:
    def __init__(self, home: Path, store: Store, clock: Clock | None = None) -> None:
        self.folder, self.store = home / "logs", store
        self.clock = FakeClock()
        self.spool, self.left = LogSpool.take(home / "spool")
        remote: Any = store
        self.keeper = LogKeeper(self.folder, clock or self.clock, remote, self.spool, 5.0)

    def write(self, relative: Path, content: bytes) -> None:
        path = self.folder / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(content)

    def entries(self) -> int:
        return len(list(self.spool.folder.iterdir())) - 1  # the lock


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
def scene(tmp_path: Path, store: Store) -> Iterator[Scene]:
    scene = Scene(tmp_path, store)
    yield scene
    scene.spool.close()


def test_a_growing_log_is_copied_again_and_again_and_at_its_end(scene: Scene) -> None:
    scene.keeper.began(ONE)
    scene.write(ONE, b"a\n")
    assert scene.keeper.step() == 5.0
    assert scene.store.copies == {}

    scene.clock.advance(5.0)
    scene.keeper.step()
    assert scene.store.copies == {ONE: b"a\n"}

    scene.clock.advance(5.0)
    scene.keeper.step()
    assert scene.store.puts == 1, "nothing has come"

    scene.write(ONE, b"b\n")
    scene.keeper.ended(ONE)
    scene.keeper.step()
    assert scene.store.copies == {ONE: b"a\nb\n"}
    assert (scene.keeper.pending(), scene.entries()) == ([], 0)


def test_the_next_look_is_for_the_copy_that_is_due_first(scene: Scene) -> None:
    scene.keeper.began(ONE)
    scene.clock.advance(2.0)
    scene.keeper.began(OTHER)

    assert scene.keeper.step() == 3.0


def test_a_copy_that_takes_long_is_made_more_seldom(scene: Scene) -> None:
    scene.store.takes = lambda: scene.clock.advance(6.0)
    scene.keeper.began(ONE)
    scene.write(ONE, b"a\n")
    scene.clock.advance(5.0)

    assert scene.keeper.step() == 60.0


def test_a_log_that_begins_while_there_is_nothing_to_do_is_copied_all_the_same(
    tmp_path: Path,
) -> None:
    scene = Scene(tmp_path, Store(), SystemClock())
    scene.keeper.interval = 0.01
    slept = Event()
    scene.keeper.clock = Sleeping(slept)
    scene.keeper.start([])
    assert slept.wait(60), "the thread has nothing to do"

    scene.keeper.began(ONE)
    scene.write(ONE, b"a\n")

    until(lambda: scene.store.copies.get(ONE) == b"a\n", "the copy")
    scene.keeper.close()


class Sleeping(SystemClock):
    def __init__(self, slept: Event) -> None:
        self._slept = slept

    def wait(self, event: Event, seconds: float) -> bool:
        self._slept.set()
        return super().wait(event, seconds)


def test_news_wakes_the_thread_once_and_then_it_rests_again(tmp_path: Path) -> None:
    clock = Waits()
    scene = Scene(tmp_path, Store(), clock)
    scene.keeper.interval = 60.0
    scene.keeper.began(ONE)
    scene.write(ONE, b"a\n")
    scene.keeper.start([])
    assert clock.begun.acquire(timeout=60)

    scene.keeper.ended(ONE)

    assert clock.begun.acquire(timeout=60)
    assert scene.store.copies == {ONE: b"a\n"}
    assert clock.are_rests[:2] == [True, True]
    scene.keeper.close()


class Waits(SystemClock):
    """Tells of each wait when it begins, and whether there was no news to end it at once."""

    def __init__(self) -> None:
        self.begun = Semaphore(0)
        self.are_rests: list[bool] = []

    def wait(self, event: Event, seconds: float) -> bool:
        self.are_rests.append(not event.is_set())
        self.begun.release()
        return super().wait(event, seconds)


def test_a_log_without_a_file_is_no_reason_to_wait(scene: Scene) -> None:
    scene.keeper.began(ONE)
    scene.keeper.ended(ONE)
    scene.keeper.step()

    assert (scene.keeper.pending(), scene.entries(), scene.store.puts) == ([], 0, 0)


def test_a_copy_that_fails_is_tried_again_ever_later(scene: Scene) -> None:
    scene.store.failures = 3
    scene.keeper.began(ONE)
    scene.write(ONE, b"a\n")
    scene.keeper.ended(ONE)

    waits = []
    while scene.keeper.pending():
        seconds = scene.keeper.step()
        waits.append(seconds)
        scene.clock.advance(seconds)

    assert scene.store.copies == {ONE: b"a\n"}
    assert waits[:3] == [1.0, 2.0, 4.0]


def test_a_copy_that_fails_for_long_is_given_up_and_left_for_the_next_start(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    scene.store.failures = MOST_TRIES + 1
    before = total(LOGS_NOT_COPIED)
    scene.keeper.began(ONE)
    scene.write(ONE, b"a\n")
    scene.keeper.ended(ONE)

    with caplog.at_level(logging.WARNING):
        while scene.keeper.pending():
            scene.clock.advance(scene.keeper.step())

    assert scene.store.puts == MOST_TRIES
    assert "action=log_not_copied" in caplog.text
    assert "RuntimeError: the store is away" in caplog.text
    assert total(LOGS_NOT_COPIED) == before + 1
    assert scene.entries() == 1


def test_a_log_that_begins_anew_while_it_is_copied_is_copied_once_more(scene: Scene) -> None:
    """As that of a callback which was handed back, and is claimed again by the same worker."""
    scene.keeper.began(ONE)
    scene.write(ONE, b"a\n")
    scene.keeper.ended(ONE)
    scene.store.takes = lambda: scene.keeper.began(ONE)
    scene.keeper.step()
    assert scene.entries() == 1

    scene.store.takes = lambda: None
    scene.write(ONE, b"b\n")
    scene.keeper.ended(ONE)
    scene.keeper.step()

    assert scene.store.copies == {ONE: b"a\nb\n"}
    assert (scene.keeper.pending(), scene.entries()) == ([], 0)


def test_what_a_dead_worker_has_left_is_copied_by_the_next_one(tmp_path: Path) -> None:
    dead = Scene(tmp_path, Store())
    dead.keeper.began(ONE)
    dead.write(ONE, b"a\n")
    alive = Scene(tmp_path, Store())
    assert alive.left == [], "its worker lives"

    os.close(dead.spool.lock)  # as the kernel does when a process dies
    heir = Scene(tmp_path, Store(), SystemClock())

    assert heir.left == [ONE]
    assert not dead.spool.folder.exists()
    heir.keeper.start(heir.left)
    heir.keeper.close()
    assert heir.store.copies == {ONE: b"a\n"}
    assert not heir.spool.folder.exists()
    alive.spool.close()


def test_a_spool_that_names_other_files_copies_none(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    scene.keeper.began(Path("../secret"))
    scene.keeper.ended(Path("../secret"))

    scene.keeper.step()

    assert scene.store.copies == {}


def test_a_stop_copies_what_has_ended(tmp_path: Path) -> None:
    scene = Scene(tmp_path, Store(), SystemClock())
    scene.keeper.start([])
    for relative in (ONE, OTHER):
        scene.keeper.began(relative)
        scene.write(relative, b"a\n")
    scene.keeper.ended(ONE)
    scene.keeper.close()

    assert scene.store.copies == {ONE: b"a\n"}
    assert scene.entries() == 1


def test_a_remote_keeps_logs_at_their_paths(tmp_path: Path) -> None:
    remote = RemoteLogs.at(f"file://{tmp_path}/copies")
    (tmp_path / "log").write_bytes(b"0123456789")

    assert remote.size(ONE) is None
    for _ in range(2):
        with (tmp_path / "log").open("rb") as log:
            remote.put(ONE, log)

    assert (tmp_path / "copies" / ONE).read_bytes() == b"0123456789"
    assert remote.size(ONE) == 10
    assert remote.read(ONE, 3, 5) == b"34"
    assert [path.name for path in (tmp_path / "copies" / ONE).parent.iterdir()] == [ONE.name]


def test_whoever_reads_a_copy_finds_the_old_or_the_new_one(tmp_path: Path) -> None:
    remote = RemoteLogs.at(f"file://{tmp_path}/copies")
    remote.put(ONE, io.BytesIO(b"old"))

    class Growing(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            assert remote.read(ONE, 0, 9) == b"old"
            return super().read(size)

    remote.put(ONE, Growing(b"new"))

    assert remote.read(ONE, 0, 9) == b"new"


def test_ended_logs_are_copied_while_another_thread_waits_for_the_store(tmp_path: Path) -> None:
    """A look through all copies takes hours in a large store."""
    listing, end = Event(), Event()
    listed: list[bool] = []

    class Slow(Store):
        def folders(self) -> list[Path]:
            listing.set()
            listed.append(end.wait(60))
            return []

    store: Any = Slow()
    given = configuration.read(LogSettings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headway_worker.logs.tidier.COPIES_INTERVAL", 0.0)
        logs = Logs.start(given, tmp_path, store, SystemClock(), lambda runs: runs)
    assert listing.wait(60)

    key = LogKey("d", "r", "t", -1, 1)
    log = logs.open(key)
    log.say("a")
    log.close()

    until(lambda: key.relative in store.copies, "the copy")
    assert listed == []
    end.set()
    logs.close()
