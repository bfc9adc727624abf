"""Interleavings that are written down: what happens between two statements, who waits for whom."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Event
from typing import Any, TypeVar

from sqlalchemy import Engine, TextClause, event, text

from headway.runtime.daemon.clock import SystemClock

T = TypeVar("T")

_WAITING = text("""
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock'
""")

_LONGEST_WAIT = 10.0


@contextmanager
def just_before(
    engine: Engine, statement: TextClause, action: Callable[[], object]
) -> Iterator[None]:
    """Run `action` once, just before the next execution of `statement` on this engine."""
    pending = [action]

    def interpose(_conn: object, executed: object, *_rest: Any) -> None:
        if executed is statement and pending:
            pending.pop()()

    event.listen(engine, "before_execute", interpose)
    try:
        yield
    finally:
        event.remove(engine, "before_execute", interpose)
    assert not pending, "the statement was never executed"


@contextmanager
def at_statement(engine: Engine, number: int, action: Callable[[], object]) -> Iterator[list[bool]]:
    """Run `action` once, just before the statement of that number on this engine, from 1 on.

    What is given is empty when there were fewer statements; `action` has to use an engine
    of its own, or its statements would be counted too.
    """
    seen = 0
    done: list[bool] = []

    def interpose(*_: object) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            done.append(True)
            action()

    event.listen(engine, "before_cursor_execute", interpose)
    try:
        yield done
    finally:
        event.remove(engine, "before_cursor_execute", interpose)


@contextmanager
def in_background(work: Callable[[], T]) -> Iterator[Future[T]]:
    """Run `work` in a thread of its own, which has ended when the context has."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(work)


def wait_until_blocked(engine: Engine, count: int = 1) -> None:
    """Return once so many connections to the engine's database wait for a lock."""
    clock, never = SystemClock(), Event()
    deadline = clock.monotonic() + _LONGEST_WAIT
    while clock.monotonic() < deadline:
        with engine.connect() as conn:
            if conn.scalar(_WAITING) == count:
                return
        clock.wait(never, 0.01)
    raise AssertionError(f"not {count} connections wait for a lock")


@contextmanager
def waiting(engine: Engine, work: Callable[[], object]) -> Iterator[Callable[[], None]]:
    """Give a seam that starts `work` in the background, and goes on when it waits for a lock.

    When the context ends, so has the work, which must not have failed.
    """
    started: list[Future[Any]] = []
    with ExitStack() as stack:

        def begin() -> None:
            started.append(stack.enter_context(in_background(work)))
            wait_until_blocked(engine)

        yield begin
    [done] = started
    done.result()


@contextmanager
def waiting_before(
    engine: Engine, statement: TextClause, work: Callable[[], object]
) -> Iterator[None]:
    """Have `work` begin just before `statement` is executed, and wait for that transaction."""
    with waiting(engine, work) as begin, just_before(engine, statement, begin):
        yield
