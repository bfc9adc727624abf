"""What waits for a tab, and when a page is made for all tabs that show it."""

import asyncio
import json
from base64 import b64decode
from collections.abc import Iterator

import pytest
from tests.unit.api.live.shown import (
    CELLS,
    PAGE,
    ToldAsker,
    feed,
    in_loop,
    pages_of,
    settled,
    tab,
    update,
)

from headway_api.live import shared_pages
from headway_api.live.messages import EndReason
from headway_api.live.page_asks import PageFailedError
from headway_api.live.page_streams import PageStream


def taken(stream: PageStream) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the id and the body of each event that waits."""
    while (event := stream._take()) is not None:
        lines = dict(line.split(": ", 1) for line in event.decode().strip().split("\n"))
        yield lines["event"], lines["id"], b64decode(json.loads(lines["data"])["body"]).decode()


@pytest.fixture(autouse=True)
def _no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_pages, "REST", 0.0)
    monkeypatch.setattr(shared_pages, "SHARE", 0.0)


def test_a_page_is_made_once_for_all_tabs_that_show_it() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        asker.go.set()
        tabs = [tab(pages, asker, its) for _ in range(5)]
        await settled()

        assert asker.made == 1
        assert [list(taken(each)) for each in tabs] == [[("page", "tag1", "/dags/etl 1")]] * 5

    in_loop(test)


def test_a_page_of_other_rights_is_made_apart() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        asker.go.set()
        tabs = [tab(pages, asker, its, names=[each]) for each in (PAGE, CELLS)]
        await settled()

        assert [found for each in tabs for _, _, found in taken(each)] == [
            "/dags/etl 1",
            "/dags/etl/cells 2",
        ]

    in_loop(test)


def test_however_often_something_changes_while_a_page_is_made_it_is_made_once_more() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        stream = tab(pages, asker, its)
        await asker.begun.wait()
        for _ in range(100):
            stream.offer(update(its))
        asker.go.set()
        await settled()

        assert asker.made == 2
        assert [found for _, _, found in taken(stream)] == ["/dags/etl 2"]

    in_loop(test)


def test_a_page_rests_as_long_as_it_took_many_times(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    sleep = asyncio.sleep

    async def rest(seconds: float) -> None:
        if seconds:
            rests.append(seconds)
        await sleep(0)

    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        asker.go.set()
        stream = tab(pages, asker, its)
        await settled()
        monkeypatch.setattr(shared_pages, "SHARE", 1e9)
        stream.offer(update(its))
        await settled()

        assert rests[0] == 0.25
        assert rests[1] > 0.25

    monkeypatch.setattr(shared_pages, "REST", 0.25)
    monkeypatch.setattr(asyncio, "sleep", rest)
    in_loop(test)


def test_a_tab_that_takes_nothing_gets_the_newest_page_alone() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        asker.go.set()
        slow = tab(pages, asker, its, names=[PAGE, CELLS])
        await settled()
        for _ in range(50):
            slow.offer(update(its))
            await settled()

        found = list(taken(slow))

        assert [name for name, _, _ in found] == ["page", "cells"]
        assert found[0][2] == "/dags/etl 101"
        assert found[1][1] == "tag101.tag102"

    in_loop(test)


def test_a_page_that_somebody_joins_while_it_is_made_is_made_anew_for_the_newcomer() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        tab(pages, asker, its)
        await asker.begun.wait()
        later = tab(pages, asker, its)
        asker.go.set()
        await settled()

        assert [found for _, _, found in taken(later)] == ["/dags/etl 2"]

    in_loop(test)


def test_a_feed_that_nobody_has_looked_at_is_waited_for() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed(looked_at=False)
        asker.go.set()
        stream = tab(pages, asker, its)
        await settled()
        before = asker.made
        its.shown = update(its).shown
        stream.offer(update(its))
        await settled()

        assert (before, asker.made) == (0, 1)

    in_loop(test)


def test_who_comes_back_with_the_page_gets_it_only_when_it_is_another() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        asker.go.set()
        back = tab(pages, asker, its, last_event_id="tag1")
        await settled()
        first = list(taken(back))
        back.offer(update(its))
        await settled()

        assert asker.asked == [(b"hash", "tag1"), (b"hash", "tag1")]
        assert first == []
        assert [found for _, _, found in taken(back)] == ["/dags/etl 2"]

    in_loop(test)


def test_if_one_has_lost_its_rights_another_one_asks() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(refused={b"revoked"}), feed()
        asker.go.set()
        tabs = [tab(pages, asker, its, secret=each) for each in (b"revoked", b"revoked", b"good")]
        await settled()

        assert asker.asked == [(b"revoked", ""), (b"good", "")]
        assert [found for _, _, found in taken(tabs[2])] == ["/dags/etl 1"]

    in_loop(test)


def test_a_page_is_not_shown_to_who_has_lost_its_rights_while_it_was_made() -> None:
    async def test() -> None:
        pages = pages_of(ended={b"revoked": EndReason.SIGNED_OUT})
        asker, its = ToldAsker(), feed()
        asker.go.set()
        tabs = [tab(pages, asker, its, secret=each) for each in (b"good", b"revoked")]
        await settled()

        assert [len(list(taken(each))) for each in tabs] == [1, 0]
        assert [each._reason for each in tabs] == [None, EndReason.SIGNED_OUT]

    in_loop(test)


@pytest.mark.parametrize("fault", [RuntimeError("a fault"), PageFailedError("503")])
def test_a_page_that_fails_is_made_again_without_another_change(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    rests: list[float] = []
    sleep = asyncio.sleep

    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(fault=fault), feed()
        asker.go.set()

        async def rest(seconds: float) -> None:
            rests.append(seconds)
            if len(rests) == 7:
                asker.fault = None
            await sleep(0)

        monkeypatch.setattr(asyncio, "sleep", rest)
        stream = tab(pages, asker, its)
        while asker.fault is not None:
            await sleep(0)
        await asyncio.wait_for(pages._pages[PAGE]._task or sleep(0), 5)

        assert [found for _, _, found in taken(stream)] == ["/dags/etl 8"]

    in_loop(test)
    assert rests == [1, 2, 4, 8, 16, 30, 30, 0]
    [said] = caplog.records
    assert "page=/dags/etl" in said.message
    assert bool(said.exc_info) is isinstance(fault, RuntimeError)


def test_a_page_that_fails_for_a_day_is_made_again_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sleep = asyncio.sleep

    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(fault=PageFailedError("503")), feed()
        asker.go.set()

        async def rest(_: float) -> None:
            if asker.made == 3_000:
                asker.fault = None
            await sleep(0)

        monkeypatch.setattr(asyncio, "sleep", rest)
        stream = tab(pages, asker, its)
        while (task := pages._pages[PAGE]._task) is None:
            await sleep(0)
        await asyncio.wait_for(task, 60)

        assert [found for _, _, found in taken(stream)] == ["/dags/etl 3001"]

    in_loop(test)


def test_tabs_that_come_and_go_have_one_making_at_a_time() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(8), ToldAsker(), feed()
        for _ in range(5):
            stream = tab(pages, asker, its)
            await settled()
            stream.left()
        last = tab(pages, asker, its)
        await settled()
        making = asker.made
        asker.go.set()
        await settled()

        assert making == 1
        assert asker.made == 2
        assert [found for _, _, found in taken(last)] == ["/dags/etl 2"]

    in_loop(test)


def test_a_page_that_nobody_shows_any_more_is_forgotten() -> None:
    async def test() -> None:
        pages, asker, its = pages_of(), ToldAsker(), feed()
        tabs = [tab(pages, asker, its) for _ in range(2)]
        await asker.begun.wait()
        for each in tabs:
            each.left()
        asker.go.set()
        await settled()

        assert pages._pages == {}
        assert list(taken(tabs[0])) == []

    in_loop(test)
