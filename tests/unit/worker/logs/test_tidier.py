"""Logs that need not be kept go; a slow store of copies holds nobody up."""

import os
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest

from headway.runtime.daemon.clock import SystemClock
from headway.runtime.logs.copies import RemoteLogs
from headway.runtime.logs.paths import LogKey
from headway.testing.time.clock import FakeClock, until
from headway_worker.logs.retention import Keep, KeptLog, Present, Run, of_no_run, tidy, too_many
from headway_worker.logs.tidier import COPIES_INTERVAL, INTERVAL, LogTidier

DAY = 86_400.0


def write(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")


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


def test_removed_logs_leave_no_empty_folders_and_running_ones_stay(tmp_path: Path) -> None:
    running, old = Path("dag_id=a/run_id=1/log"), Path("dag_id=b/run_id=1/log")
    for relative in (running, old):
        write(tmp_path / relative)

    count = tidy(tmp_path, Keep(1.0, 10), 10**12, running={running}, waiting=set())

    assert count == 1
    assert [path.name for path in tmp_path.iterdir()] == ["dag_id=a"]
    assert (tmp_path / running).exists()


def of(run_id: str, dag_id: str = "d") -> Path:
    return LogKey(dag_id, run_id, "t", -1, 1).relative


def only(*runs: str) -> Present:
    """A database that has these runs of the DAG "d", and knows nothing of other DAGs."""
    return lambda asked: {run for run in asked if run[0] != "d" or run[1] in runs}


def test_logs_of_runs_that_are_gone_go_once_they_are_a_day_old(tmp_path: Path) -> None:
    there, gone, young, other = of("there"), of("gone"), of("young"), of("gone", "other")
    for relative in (there, gone, young, other):
        write(tmp_path / relative)
    now = 100 * DAY
    for relative in (there, gone, other):
        os.utime(tmp_path / relative, (now - 2 * DAY,) * 2)
    os.utime(tmp_path / young, (now - DAY / 2,) * 2)

    keep = Keep(30 * DAY, 10**9)
    assert tidy(tmp_path, keep, now, {gone}, (), only("there")) == 0
    assert tidy(tmp_path, keep, now, (), (), only("there")) == 1
    assert not (tmp_path / gone).exists()


def test_the_database_is_asked_once_for_runs_of_many_dags(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("headway_worker.logs.retention.ASKED", 3)
    asked: list[int] = []

    def present(runs: Collection[Run]) -> Collection[Run]:
        asked.append(len(runs))
        return set(runs) - {("d5", "5")}

    logs = [of(str(number), f"d{number}") for number in range(7)]
    assert of_no_run(logs, present) == {of("5", "d5")}
    assert asked == [3, 3, 1]


def tidier(
    tmp_path: Path, remote: Any, present: Present, random: Random | None = None
) -> LogTidier:
    clock = FakeClock(datetime.fromtimestamp(20 * DAY, UTC))
    keep = Keep(DAY, 10**9)
    random = random or Fixed(0.0)
    return LogTidier(tmp_path / "logs", keep, clock, nothing, remote, present, random)


def nothing() -> tuple[set[Path], set[Path]]:
    return set(), set()


class Fixed(Random):
    """Chance that always gives the same."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.value = value

    def random(self) -> float:
        return self.value


def test_copies_of_logs_of_runs_that_are_gone_go(tmp_path: Path) -> None:
    copies = tmp_path / "copies"
    for relative in (of("there"), of("gone"), of("young"), of("gone", "other")):
        write(copies / relative)
        os.utime(copies / relative, (10 * DAY,) * 2)
    os.utime(copies / of("young"), (19.5 * DAY,) * 2)

    tidier(tmp_path, RemoteLogs.at(f"file://{copies}"), only("there")).step()

    left = {path.relative_to(copies) for path in copies.rglob("*.log")}
    assert left == {of("there"), of("young"), of("gone", "other")}


class Listed:
    """A store of many copies, all old, that notes how far it was listed."""

    def __init__(self, logs: Iterable[Path]) -> None:
        self._logs = logs
        self.looks = self.listed = 0
        self.removed: list[Path] = []

    def folders(self) -> list[Path]:
        self.looks += 1
        return [Path("dag_id=d")]

    def logs(self, _folder: Path) -> Iterator[Path]:
        for each in self._logs:
            self.listed += 1
            yield each

    def modified(self, _relative: Path) -> datetime:
        return datetime.fromtimestamp(DAY, UTC)

    def remove(self, relative: Path) -> None:
        self.removed.append(relative)


def test_workers_look_through_the_copies_at_a_moment_of_their_own(tmp_path: Path) -> None:
    remote = Listed([])
    its = tidier(tmp_path, remote, only(), Fixed(0.25))

    assert its.step() == INTERVAL
    its.clock.wait(its._stop, COPIES_INTERVAL / 4 - 1)
    its.step()
    assert remote.looks == 0

    its.clock.wait(its._stop, 1)
    its.step()
    assert remote.looks == 1
    its.clock.wait(its._stop, COPIES_INTERVAL - 1)
    its.step()
    assert remote.looks == 1


def test_copies_are_looked_at_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headway_worker.logs.tidier.MOST", 3)
    remote, listed = Listed(of(str(number)) for number in range(7)), []

    def present(runs: Collection[Run]) -> Collection[Run]:
        listed.append(remote.listed)
        return set(runs) - {("d", "0")}

    tidier(tmp_path, remote, present).step()

    assert listed == [3, 6, 7]
    assert remote.removed == [of("0")]


def test_a_stop_ends_a_look_through_the_copies(tmp_path: Path) -> None:
    logs = [of(str(number)) for number in range(5)]

    def listing() -> Iterator[Path]:
        for number, relative in enumerate(logs):
            if number == 3:
                its.close()
            yield relative

    remote = Listed(listing())
    its = tidier(tmp_path, remote, only())
    its.step()

    assert remote.listed == 4
    assert remote.removed == []


def test_a_store_that_is_away_stops_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert tidier(tmp_path, object(), only()).step() > 0
    assert "action=remove_copies error=AttributeError" in caplog.text


def test_a_thread_tidies_until_it_is_closed(tmp_path: Path) -> None:
    write(tmp_path / "logs" / of("old"))
    os.utime(tmp_path / "logs" / of("old"), (DAY, DAY))
    its = tidier(tmp_path, None, only("old"))
    its.clock = SystemClock()

    its.start()
    until(lambda: not (tmp_path / "logs" / of("old")).exists(), "the old log goes")
    its.close()

    assert its._thread is not None
    assert not its._thread.is_alive()
