"""Work that computes for too long is interrupted, and nothing else is."""

import signal
from threading import Thread

import pytest

from headway.domain.errors import TimetableError
from headway.runtime.daemon.time_limit import interrupted


def compute(*, stubborn: int = 0) -> None:
    """Compute until somebody interrupts it, swallowing the first errors."""
    while True:
        try:
            for _ in range(1000):
                pass
        except TimetableError:
            if stubborn == 0:
                raise
            stubborn -= 1


@pytest.mark.parametrize("stubborn", [0, 1])
def test_what_never_ends_is_interrupted(stubborn: int) -> None:
    with pytest.raises(TimetableError, match="too long"), interrupted(0.05, "too long"):
        compute(stubborn=stubborn)

    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_what_ends_in_time_is_left_alone_and_what_comes_later_too() -> None:
    handler = signal.getsignal(signal.SIGVTALRM)

    with interrupted(1000, "too long"):
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 0

    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) == handler


def test_other_threads_go_on_without_a_bound() -> None:
    done = []

    def work() -> None:
        with interrupted(1000, "too long"):
            done.append(signal.getitimer(signal.ITIMER_VIRTUAL))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert done == [(0.0, 0.0)]
