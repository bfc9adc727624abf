import signal
import sys
from collections.abc import Callable
from threading import Event

import pytest

from headway.runtime.daemon.unraisable import raised_again
from headway.testing.processes.finalized import Finalized


class Interrupted(BaseException):
    pass


class OtherError(Exception):
    pass


def interrupt() -> None:
    raise Interrupted


def fail() -> None:
    raise OtherError


def drop_and_wait(by: Callable[[], None]) -> None:
    with raised_again(Interrupted, by):
        Finalized(interrupt)
        Event().wait(300)


def test_what_python_drops_is_raised_again(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Interrupted):
        drop_and_wait(interrupt)

    assert capfd.readouterr().err == ""


def test_and_again(capfd: pytest.CaptureFixture[str]) -> None:
    dropped_before = iter([True, True, False])

    def dropping() -> None:
        if next(dropped_before):
            Finalized(interrupt)
        else:
            raise Interrupted

    with pytest.raises(Interrupted):
        drop_and_wait(dropping)

    assert capfd.readouterr().err == ""


def test_any_other_error_is_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: told.append(dropped.exc_type))

    with raised_again(Interrupted, interrupt):
        Finalized(fail)

    assert told == [OtherError]


def test_all_is_afterwards_as_it_was() -> None:
    before = sys.unraisablehook, signal.getsignal(signal.SIGALRM)

    with raised_again(Interrupted, interrupt):
        Finalized(interrupt)
        signal.setitimer(signal.ITIMER_REAL, 60)

    assert (sys.unraisablehook, signal.getsignal(signal.SIGALRM)) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)
