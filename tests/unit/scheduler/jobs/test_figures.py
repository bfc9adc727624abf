"""What a job logs of its passes: at most once a second, and nothing where nothing was done."""

import logging
from collections import Counter

import pytest

from headway.testing.time.clock import FakeClock
from headway_scheduler.jobs.figures import EVERY, Figures


def test_what_was_done_is_logged_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    clock = FakeClock()
    figures = Figures(clock)
    caplog.set_level(logging.INFO, "headway_scheduler.jobs.figures")

    clock.advance(EVERY)
    assert not figures.add(Counter(queue_tasks=0))
    assert caplog.messages == [], "nothing was done"

    assert figures.add(Counter(queue_tasks=2))
    assert figures.add(Counter(queue_tasks=3))
    assert caplog.messages == ["action=step steps=1 queue_tasks=2"]

    clock.advance(EVERY)
    assert not figures.add(Counter())
    assert caplog.messages[1:] == ["action=step steps=1 queue_tasks=3"]
