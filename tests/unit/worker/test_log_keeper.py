"""Logs that are copied: when, how often in vain, and what a dead worker has left."""

import io
import logging
import os
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Event, Semaphore
from typing import IO, Any

import pytest

from headway.metrics.worker import LOGS_NOT_COPIED
from headway.runtime.attempt_logs import LogKey
from headway.runtime.clock import Clock, SystemClock
from headway.runtime.log_remote import RemoteLogs
from headway.testing.clock import FakeClock
from headway.testing.machine import until
from headway.testing.metrics import total
from headway_worker.log_keeper import MOST_TRIES, LogKeeper
from headway_worker.log_retention import Keep, KeptLog, Present, of_no_run, tidy, too_many
from headway_worker.log_spool import LogSpool

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
        keep = Keep(30 * DAY, 10**9)
        self.keeper = LogKeeper(self.folder, keep, clock or self.clock, remote, self.spool, 5.0)
        self.keeper._tidy_at = 10**9

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


def kept(name: str, days_ago: float, size: int = 1) -> KeptLog:
    return KeptLog(Path(name), 100 * DAY - days_ago * DAY, size)


@pytest.mark.parametrize(
    ("logs", "keep", "waiting", "removed"),
    [
        ([], Keep(DAY, 10), "", ""),
        ([kept("a", 0.5), kept("b", 1.5)], Keep(DAY, 10), "", "b"),
        ([kept("a", 0.5), kept("b", 1.5)], Keep(DAY, 10), "b", ""),
        ([kept("a", 1, 5), kept("b", 2, 5), kept("c", 3, 1)], Keep(9 * DAY, 10), "", "c"),
        ([kept("a", 1, 5), kept("b", 2, 6), kept("c", 3, 1)], Keep(9 * DAY, 10), "bc", "bc"),
    ],
)
def test_old_logs_go_and_beyond_the_limit_the_oldest(
    logs: list[KeptLog], keep: Keep, waiting: str, removed: str
) -> None:
    found = too_many(logs, keep, 100 * DAY, set(map(Path, waiting)))

    assert found == set(map(Path, removed))


def test_removed_logs_leave_no_empty_folders_and_running_ones_stay(scene: Scene) -> None:
    running, old = Path("dag_id=a/run_id=1/log"), Path("dag_id=b/run_id=1/log")
    for relative in (running, old):
        scene.write(relative, b"x")

    count = tidy(scene.folder, Keep(1.0, 10), 10**12, running={running}, waiting=set())

    assert count == 1
    assert [path.name for path in scene.folder.iterdir()] == ["dag_id=a"]
    assert (scene.folder / running).exists()


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


def of(run_id: str, dag_id: str = "d") -> Path:
    return LogKey(dag_id, run_id, "t", -1, 1).relative


def only(*runs: str) -> Present:
    """A database that has these runs of the DAG "d", and knows nothing of other DAGs."""
    return lambda dag_id, ids: set(runs) & set(ids) if dag_id == "d" else ids


def test_logs_of_runs_that_are_gone_go_once_they_are_a_day_old(scene: Scene) -> None:
    there, gone, young, other = of("there"), of("gone"), of("young"), of("gone", "other")
    for relative in (there, gone, young, other):
        scene.write(relative, b"x")
    now = 100 * DAY
    for relative in (there, gone, other):
        os.utime(scene.folder / relative, (now - 2 * DAY,) * 2)
    os.utime(scene.folder / young, (now - DAY / 2,) * 2)

    keep = Keep(30 * DAY, 10**9)
    assert tidy(scene.folder, keep, now, {gone}, (), only("there")) == 0
    assert tidy(scene.folder, keep, now, (), (), only("there")) == 1
    assert not (scene.folder / gone).exists()


def test_the_database_is_asked_for_a_bounded_number_of_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headway_worker.log_retention.ASKED", 3)
    asked: list[int] = []

    def present(_dag_id: str, ids: Collection[str]) -> Collection[str]:
        asked.append(len(ids))
        return set(ids) - {"5"}

    assert of_no_run([of(str(number)) for number in range(7)], present) == {of("5")}
    assert asked == [3, 3, 1]


def test_copies_of_logs_of_runs_that_are_gone_go(tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    for relative in (of("there"), of("gone"), of("young"), of("gone", "other")):
        (copies / relative).parent.mkdir(parents=True, exist_ok=True)
        (copies / relative).write_bytes(b"x")
        os.utime(copies / relative, (10 * DAY,) * 2)
    os.utime(copies / of("young"), (19.5 * DAY,) * 2)
    clock = FakeClock(datetime.fromtimestamp(20 * DAY, UTC))
    remote = RemoteLogs.at(f"file://{copies}")
    keeper = LogKeeper(tmp_path / "logs", Keep(DAY, 10**9), clock, remote, present=only("there"))

    keeper.step()

    left = {path.relative_to(copies) for path in copies.rglob("*.log")}
    assert left == {of("there"), of("young"), of("gone", "other")}


def test_a_store_that_is_away_stops_nothing(scene: Scene) -> None:
    scene.keeper.present = only()
    scene.keeper._tidy_at = 0.0
    scene.keeper.ended(ONE)

    assert scene.keeper.step() > 0
