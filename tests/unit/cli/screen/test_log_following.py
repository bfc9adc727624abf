"""Following a task's logs: through its attempts, and to the end of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.cli.screen.log_following import FollowedTask, Follower
from headway.domain.errors import LogsError, NotFoundError
from headway.runtime.logs.lines import LogLine, LogSource, encode
from headway.runtime.logs.reading import LocalLogs, LogReader
from headway.testing.time.clock import FakeClock

RUNNING = FollowedTask({1: False}, over=False)


class Task:
    """A task whose attempts this test writes the logs of."""

    def __init__(self, folder: Path, only: int | None = None) -> None:
        self.folder, self.clock, self.followed = folder, FakeClock(), RUNNING
        self.away = False
        self.follower = Follower(
            look=lambda: self.followed,
            read=lambda number: LogReader(Path(str(number)), [self]),
            clock=self.clock,
            only=only,
            patience=10.0,
        )

    def size(self, relative: Path) -> int | None:
        if self.away:
            raise LogsError("nobody is there")
        return LocalLogs(self.folder).size(relative)

    def read(self, relative: Path, start: int, end: int) -> bytes:
        return LocalLogs(self.folder).read(relative, start, end)

    def write(self, attempt: int, *messages: str, outcome: str | None = None) -> None:
        with (self.folder / str(attempt)).open("ab") as log:
            for message in messages:
                line = LogLine(time="", source=LogSource.STDOUT, message=message, outcome=outcome)
                log.write(encode(line))

    def step(self, seconds: float = 1.0) -> list[str]:
        found = [line.decode().partition('"message":"')[2][:-2] for line in self.follower.step()]
        self.clock.advance(seconds)
        return found


@pytest.fixture
def make(tmp_path: Path) -> Callable[..., Task]:
    return lambda only=None: Task(tmp_path, only)


def test_lines_come_as_they_are_written_until_the_task_is_over(make: Callable[..., Task]) -> None:
    task = make()
    task.write(1, "a", "b")
    assert task.step() == ["a", "b"]
    assert task.step() == []
    task.write(1, "c")
    task.write(1, "success", outcome="success")
    assert task.step() == ["c", "success"]
    assert not task.follower.done, "the database does not say so yet"

    task.followed = FollowedTask({1: True}, over=True)
    assert task.step() == []
    assert task.follower.done
    assert not task.follower.cut_short


def test_a_retry_is_followed_too(make: Callable[..., Task]) -> None:
    task = make()
    task.write(1, "failed", outcome="failed")
    assert task.step() == ["failed"]
    task.followed = FollowedTask({1: True}, over=False)
    assert task.step(60.0) == []

    task.followed = FollowedTask({1: True, 2: False}, over=False)
    task.write(2, "again")
    assert task.step() == ["again"]
    task.write(2, "done", outcome="success")
    task.followed = FollowedTask({1: True, 2: True}, over=True)
    assert task.step() == ["done"]
    task.step()
    assert task.follower.done


def test_no_attempt_is_left_out_that_came_and_went_meanwhile(make: Callable[..., Task]) -> None:
    task = make()
    task.write(1, "failed", outcome="failed")
    assert task.step() == ["failed"]
    for attempt in (2, 3):
        task.write(attempt, str(attempt), outcome="failed")
    task.followed = FollowedTask({1: True, 2: True, 3: True}, over=True)

    assert [task.step(), task.step(), task.step()] == [["2"], ["3"], []]
    assert task.follower.done


def test_following_begins_with_the_last_attempt(make: Callable[..., Task]) -> None:
    task = make()
    task.followed = FollowedTask({1: True, 2: False}, over=False)
    task.write(1, "old", outcome="failed")
    task.write(2, "new")

    assert task.step() == ["new"]


def test_one_attempt_alone_may_be_followed(make: Callable[..., Task]) -> None:
    task = make(1)
    task.followed = FollowedTask({1: False, 2: False}, over=False)
    task.write(1, "failed", outcome="failed")

    assert task.step() == ["failed"]
    assert task.follower.done


def test_a_task_that_has_not_begun_is_waited_for(make: Callable[..., Task]) -> None:
    task = make()
    task.followed = FollowedTask({}, over=False)
    assert task.step(3600.0) == []
    assert not task.follower.done

    task.followed = RUNNING
    task.write(1, "a")
    assert task.step() == ["a"]


@pytest.mark.parametrize("only", [None, 3])
def test_what_will_never_begin_is_an_error(make: Callable[..., Task], only: int | None) -> None:
    task = make(only)
    task.followed = FollowedTask({} if only is None else {1: True}, over=True)

    with pytest.raises(NotFoundError):
        task.step()


def test_the_log_of_a_worker_that_died_has_no_end(make: Callable[..., Task]) -> None:
    task = make()
    task.write(1, "a")
    assert task.step(3600.0) == ["a"]
    assert not task.follower.cut_short, "it is only silent"

    task.followed = FollowedTask({1: True}, over=True)
    assert [task.step(5.0), task.step(5.0)] == [[], []]
    task.write(1, "late")
    assert [task.step(9.0), task.step(9.0), task.step()] == [["late"], [], []]
    ends = [task.follower.cut_short]
    task.step()
    ends.append(task.follower.cut_short)
    assert ends == [1, 0]
    assert task.follower.done


def test_a_store_that_is_away_for_a_while_ends_nothing(make: Callable[..., Task]) -> None:
    task = make()
    task.write(1, "a")
    assert task.step() == ["a"]
    task.away = True
    task.write(1, "b")
    assert [task.step(4.0), task.step(4.0)] == [[], []]

    task.away = False
    assert task.step(60.0) == ["b"]
    task.away = True
    assert task.step() == []
    task.away = False
    task.write(1, "done", outcome="success")
    assert task.step() == ["done"]


def test_a_store_that_stays_away_is_an_error(make: Callable[..., Task]) -> None:
    task = make()
    task.away = True
    assert [task.step(5.0), task.step(5.0), task.step()] == [[], [], []]

    with pytest.raises(LogsError, match="nobody is there"):
        task.step()
