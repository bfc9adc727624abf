"""What is told, and when; the thread's turns are taken by hand."""

from collections.abc import Collection
from threading import Event

import pytest
from sqlalchemy.exc import OperationalError

from headway.db.core.notices import GAP, SCHEDULER, STOP, WORKER, Notice, NoticeSender
from headway.testing.database.interleaving import in_background
from headway.testing.time.clock import FakeClock

PATIENCE = 20.0


class Town:
    """Who is told: it keeps what it hears, with the time; meanwhile more may happen."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.heard: list[tuple[float, set[Notice]]] = []
        self.meanwhile: list[Notice] = []
        self.away = False
        self.notifier = NoticeSender(self.tell, self.clock)

    def tell(self, notices: Collection[Notice]) -> None:
        self.heard.append((self.clock.monotonic(), set(notices)))
        for notice in self.meanwhile:
            self.notifier.notify(notice)
        self.meanwhile.clear()
        if self.away:
            raise OperationalError("NOTIFY", {}, Exception("the server is away"))


@pytest.fixture
def town() -> Town:
    return Town()


def test_the_first_notice_is_sent_at_once(town: Town) -> None:
    town.notifier.notify(WORKER)
    town.notifier.deliver()

    assert town.heard == [(0, {WORKER})]


def test_the_same_notice_again_and_again_is_sent_once(town: Town) -> None:
    for _ in range(100):
        town.notifier.notify(WORKER)
    town.notifier.deliver()
    town.notifier.deliver()

    assert town.heard == [(0, {WORKER})]


def test_different_notices_are_all_sent(town: Town) -> None:
    for notice in (WORKER, STOP, SCHEDULER):
        town.notifier.notify(notice)
    town.notifier.deliver()

    assert town.heard == [(0, {WORKER, STOP, SCHEDULER})]


def test_one_that_comes_while_others_are_sent_is_sent_after_the_gap(town: Town) -> None:
    town.meanwhile = [WORKER]
    town.notifier.notify(WORKER)
    town.notifier.deliver()
    town.notifier.deliver()

    assert town.heard == [(0, {WORKER}), (GAP, {WORKER})]


def test_one_that_comes_in_the_gap_is_not_lost(town: Town) -> None:
    town.notifier.notify(WORKER)
    town.notifier.deliver()
    town.notifier.notify(WORKER)
    town.notifier.deliver()

    assert town.heard == [(0, {WORKER}), (GAP, {WORKER})]


def test_however_many_there_are_so_many_are_sent_in_a_second(town: Town) -> None:
    while town.clock.monotonic() < 1:
        town.notifier.notify(SCHEDULER)
        town.notifier.deliver()

    assert len(town.heard) <= 1 / GAP + 1


def test_an_error_breaks_nothing_and_is_said_once(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    town.away = True
    for _ in range(3):
        town.notifier.notify(WORKER)
        town.notifier.deliver()
    town.away = False
    town.notifier.notify(WORKER)
    town.notifier.deliver()

    assert len(town.heard) == 4
    assert caplog.messages == ["Others cannot be notified, they have to look: the server is away"]


def test_errors_that_begin_again_are_said_again(
    town: Town, caplog: pytest.LogCaptureFixture
) -> None:
    for town.away in (True, False, True):
        town.notifier.notify(WORKER)
        town.notifier.deliver()

    assert len(caplog.messages) == 2


def test_what_comes_during_the_last_delivery_is_sent_before_the_end() -> None:
    heard, began, go_on = [], Event(), Event()

    def tell(notices: Collection[Notice]) -> None:
        heard.append(set(notices))
        began.set()
        assert go_on.wait(PATIENCE)

    notifier = NoticeSender(tell, FakeClock())
    notifier.start()
    notifier.notify(WORKER)
    assert began.wait(PATIENCE)
    notifier.notify(SCHEDULER)
    with in_background(notifier.close):
        assert notifier._bell.stopped.wait(PATIENCE)
        go_on.set()

    assert heard == [{WORKER}, {SCHEDULER}]


def test_one_that_was_never_started_tells_nobody(town: Town) -> None:
    town.notifier.notify(SCHEDULER)

    assert town.heard == []
