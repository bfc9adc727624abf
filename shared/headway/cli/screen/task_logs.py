"""Print the logs of a task's attempts, also while they run."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final

import typer

from headway.cli.input.interrupts import ending_well
from headway.cli.input.session import transaction
from headway.cli.screen.log_following import FollowedTask, Follower
from headway.cli.screen.terminal import on_terminal
from headway.domain.errors import AttemptNotFoundError, LogNotFoundError
from headway.domain.hints import Action, act, hint
from headway.domain.states import TERMINAL
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.logs.copies import log_places
from headway.runtime.logs.lines import LogLine, LogSource, decode, readable
from headway.runtime.logs.paths import LogKey, logs_folder
from headway.runtime.logs.reading import LogPlace, LogReader
from headway.runtime.settings import configuration
from headway.runtime.settings.logs import LogSettings

if TYPE_CHECKING:
    from headway.cli.input.session import Transaction

_LEVELS: Final = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}


@dataclass(frozen=True, slots=True)
class LogRequest:
    """The task instance whose log is asked for, and which attempt; None for the last one."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    attempt: int | None

    def key(self, attempt: int) -> LogKey:
        """Return the name of an attempt's log."""
        return LogKey(self.dag_id, self.run_id, self.task_id, self.map_index, attempt)


def print_log(request: LogRequest, *, raw: bool) -> None:
    """Print the log of one attempt as far as it is there; NotFoundError when it is nowhere."""
    with transaction() as conn:
        task = _followed_task(conn, request)
    number = _one_of(list(task.attempts), request)
    key = request.key(number)
    print_whole([key.relative, key.former], f"attempt {number}", raw=raw)


def print_whole(logs: Sequence[Path], of: str, *, raw: bool) -> None:
    """Print those of these logs that are there, one after the other, as far as they go.

    NotFoundError, which says what they are of, when none is anywhere.
    """
    places = _places()
    readers = [LogReader(log, places) for log in logs]
    found = [reader for reader in readers if reader.place() is not None]
    if not found:
        raise LogNotFoundError(
            f"The log of {of} is neither on this machine "
            f"({logs_folder(configuration.home()) / logs[0]}) nor copied elsewhere"
            f"{_elsewhere()}. Look on the host of the worker that ran it."
        )
    for reader in found:
        _print(reader.lines(), raw=raw)
        if rest := reader.rest():
            _print([rest], raw=raw)


def follow_log(request: LogRequest, *, raw: bool) -> None:
    """Print what comes, until the attempt that was asked for has ended, or else the task has."""
    never, places = Event(), _places()
    with _looking(request) as look, ending_well():
        follower = Follower(
            look=look,
            read=lambda number: _reader(request.key(number), places),
            clock=SystemClock(),
            only=request.attempt,
            patience=2.0 + 2.0 * configuration.read(LogSettings).copy_interval,
        )
        while not follower.done:
            _print(follower.step(), raw=raw)
            sys.stdout.flush()
            if follower.cut_short:
                print(f"(Attempt {follower.cut_short}: {_NO_END})", file=sys.stderr)
            follower.clock.wait(never, 0.0 if follower.done else follower.pause)


def _reader(key: LogKey, places: Sequence[LogPlace]) -> LogReader:
    former = LogReader(key.former, places)
    return LogReader(key.relative, places) if former.place() is None else former


_NO_END: Final = "its log has no end; its worker died, or has not copied the rest yet."


@contextmanager
def _looking(request: LogRequest) -> Iterator[Callable[[], FollowedTask]]:
    """Give out what asks the database how the task stands; one that is away is waited for."""
    from headway.cli.input.polling import polled

    with transaction() as conn:
        last = _followed_task(conn, request)

    def look() -> FollowedTask:
        nonlocal last
        last = database.look(lambda conn: _followed_task(conn, request)) or last
        return last

    with polled("headway logs") as database:
        yield look


def _followed_task(conn: "Transaction", request: LogRequest) -> FollowedTask:
    from headway.actions.lookup import run_of
    from headway.db.reads import task_views

    run_of(conn, request.dag_id, request.run_id)
    found = task_views.history(
        conn, request.dag_id, request.run_id, request.task_id, request.map_index
    )
    if found is None:
        return FollowedTask({}, over=True)
    attempts = {
        attempt_view.attempt: attempt_view.ended_at is not None
        for attempt_view in found.attempts
        if attempt_view.started_at
    }
    return FollowedTask(attempts, over=found.task.state in TERMINAL)


def _one_of(started: list[int], request: LogRequest) -> int:
    if not started:
        shown = act(Action.LIST_TASKS, dag_id=request.dag_id, run_id=request.run_id)
        raise AttemptNotFoundError(
            f"No attempt of task {request.task_id!r} has started in that run.",
            hint=hint(shown, " shows how its tasks stand."),
        )
    number = started[-1] if request.attempt is None else request.attempt
    if number not in started:
        raise AttemptNotFoundError(
            f"Task {request.task_id!r} has no attempt {number} that has started; it has "
            f"{', '.join(map(str, started))}."
        )
    return number


def _places() -> list[LogPlace]:
    return log_places(configuration.home(), configuration.read(LogSettings).remote)


def _elsewhere() -> str:
    remote = configuration.read(LogSettings).remote
    return " (HEADWAY_LOGS_REMOTE is not set)" if remote is None else f" ({remote})"


def _print(lines: Iterable[bytes], *, raw: bool) -> None:
    if raw:
        for line in lines:
            sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
        return
    coloured = on_terminal()
    for line in lines:
        for text in _shown(decode(line), coloured=coloured):
            print(text)


def _shown(line: LogLine, *, coloured: bool) -> Iterator[str]:
    texts = readable(line)
    if not coloured:
        yield from texts
        return
    for text in texts:
        yield typer.style(text, fg=_colour(line), dim=line.source == LogSource.HEADWAY or None)


def _colour(line: LogLine) -> str | None:
    if line.source == LogSource.STDERR:
        return "yellow"
    return _LEVELS.get(line.level or "")
