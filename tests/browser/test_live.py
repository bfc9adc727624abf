"""Pages follow what other processes commit, and tell when they cannot."""

import os
import re
import signal
from typing import Final
from urllib.parse import quote

import pytest
from sqlalchemy import text
from tests.browser.conftest import Watched

pytestmark = [pytest.mark.browser, pytest.mark.services]

_API: Final = text("SELECT pid FROM process WHERE kind = 'api' AND ended_at IS NULL")

_WRITES: Final = text(
    "SELECT 1 FROM task_instance JOIN dag_run ON dag_run.id = dag_run_id"
    " WHERE dag_run.dag_id = 'minutes' AND task_instance.state = 'running'"
)

AT_THE_END: Final = "scrollY > 100"
"""Whether a log that is followed is longer than the window, and has been scrolled to its end."""

SCROLL_UP_A_LITTLE: Final = """new Promise(done => {
    addEventListener("scroll", done, { once: true });
    scrollBy({ top: -20, behavior: "instant" });
})"""
SCROLL_TO_THE_END: Final = """new Promise(done => {
    addEventListener("scroll", done, { once: true });
    scrollTo({ top: document.documentElement.scrollHeight, behavior: "instant" });
})"""


def test_a_change_of_another_process_shows(desk: Watched) -> None:
    desk.go("/dags/stores")
    desk.page.locator("#live", has_text="live").wait_for()
    before = desk.page.locator(".columns a").count()

    run = desk.shop.stack.trigger("stores")

    desk.page.locator(f".columns a[aria-label='{run.run_id}: success']").wait_for()
    assert desk.page.locator(".columns a").count() == before + 1
    assert desk.problems == []


def test_every_tab_of_a_page_follows_also_where_somebody_has_gone_on(desk: Watched) -> None:
    tabs = [desk.page, desk.page.context.new_page()]
    for page in tabs:
        page.goto(desk.shop.address + "/dags/stores")
        page.locator("#live", has_text="live").wait_for()
    row = desk.page.locator(".cells[data-task='count']")
    row.click(position={"x": 8, "y": 8})
    desk.page.locator("#panel").wait_for()

    run = desk.shop.stack.trigger("stores")

    for page in tabs:
        page.locator(f".columns a[aria-label='{run.run_id}: success']").wait_for()
    assert desk.page.locator("#panel").is_visible()
    assert not tabs[1].locator("#panel").is_visible()
    assert desk.problems == []


def test_cells_of_a_large_grid_follow_without_a_request(desk: Watched) -> None:
    page = desk.page
    desk.go("/dags/wide")
    page.locator(".grid tr.gap").first.wait_for(state="attached")
    page.locator("#live", has_text="live").wait_for()
    row = page.locator(".cells[data-task='step_000']")
    row.evaluate("row => { row.dataset.same = ''; }")
    runs = page.locator(".columns a").count()
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))

    desk.shop.stack.trigger("wide")

    page.locator(f".cells[data-task='step_000'][width='{16 * (runs + 1)}']").wait_for()
    page.locator(".columns a").nth(runs).wait_for()
    assert row.get_attribute("data-same") == ""
    assert [url for url in requests if "/live?" not in url] == []
    assert desk.problems == []


def test_what_is_typed_stays_when_the_page_changes(desk: Watched) -> None:
    desk.go("/dags/stores")
    desk.page.locator("#live", has_text="live").wait_for()
    search = desk.page.get_by_role("searchbox", name="Task")
    search.fill("coun")

    run = desk.shop.stack.trigger("stores")

    desk.page.locator(f".columns a[aria-label^='{run.run_id}:']").wait_for()
    assert search.input_value() == "coun"
    assert desk.page.evaluate("document.activeElement.name") == "task"


def test_lines_come_to_an_open_log_while_its_end_is_in_sight(desk: Watched) -> None:
    page, run = desk.page, desk.shop.run_id("exports")
    desk.go(f"/dags/exports/runs/{run}")
    page.get_by_role("link", name=re.compile(r"^export_\d$")).first.wait_for()
    for number in range(4):
        desk.go(f"/dags/exports/runs/{run}/tasks/export_{number}/attempts/1/log")
        if page.locator("#follow[data-stream]").count():
            break
    last = int(page.locator(".log .text").last.inner_text().split()[-1])

    page.locator(".log .text", has_text=re.compile(f"^page {last + 2}$")).wait_for()

    shown = page.locator(".log li").evaluate_all("lines => lines.map(line => line.id)")
    assert len(shown) == len(set(shown))
    assert page.evaluate("scrollY + innerHeight > document.documentElement.scrollHeight - 60")
    page.evaluate(SCROLL_UP_A_LITTLE)
    read = page.evaluate("scrollY")
    page.locator(".log .text", has_text=re.compile(f"^page {last + 4}$")).wait_for()
    assert page.evaluate("scrollY") == read
    page.evaluate(SCROLL_TO_THE_END)
    page.locator(".log .text", has_text=re.compile(f"^page {last + 6}$")).wait_for()
    assert page.evaluate("scrollY + innerHeight > document.documentElement.scrollHeight - 60")
    assert [problem for problem in desk.problems if "404" not in problem] == []


def test_a_log_from_a_line_on_is_followed_for_more_lines_than_a_page_has(desk: Watched) -> None:
    page, run = desk.page, desk.shop.stack.trigger("minutes")
    address = f"/dags/minutes/runs/{quote(run.run_id)}/tasks/write/attempts/1/log"
    desk.shop.stack.until(lambda conn: conn.execute(_WRITES).first(), "a task that writes")
    desk.go(address)
    page.locator(".log .text", has_text=re.compile(r"^minute \d+$")).first.wait_for()
    line = page.locator(".log .at").last.get_attribute("href")
    page.goto(desk.shop.address + str(line))
    page.locator("#follow[data-stream]").wait_for()
    first = int(page.locator(".log .text").first.inner_text().split()[-1])
    page.locator(".log .text", has_text=re.compile(f"^minute {first + 90}$")).wait_for()

    with page.expect_response(lambda answer: "/log?" in answer.url):
        page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    page.locator("#follow:not([data-stream])").wait_for()

    page.locator(".log .text", has_text=re.compile(f"^minute {first + 180}$")).wait_for()
    assert not page.get_by_role("link", name="Later lines").is_visible()
    shown = page.locator(".log li").evaluate_all("lines => lines.map(line => line.id)")
    assert len(shown) == len(set(shown))
    assert desk.problems == []


def test_no_text_of_a_dag_becomes_markup(desk: Watched) -> None:
    run_id = desk.shop.run_id("hostile")
    for path in (
        "/dags",
        "/dags/hostile",
        f"/dags/hostile/runs/{run_id}",
        f"/dags/hostile/runs/{run_id}/tasks/shout",
        f"/dags/hostile/runs/{run_id}/tasks/shout/attempts/1/log",
        "/dags/hostile/versions/1/files/hostile.py",
    ):
        desk.go(path)
        assert "owned" not in desk.page.title()
        assert desk.page.locator("main img, main script, h1:has-text('taken over')").count() == 0
    assert desk.problems == []


def test_a_page_follows_again_when_a_killed_api_is_back(desk: Watched) -> None:
    desk.go("/dags/stores")
    live = desk.page.locator("#live")
    live.filter(has_text="live").wait_for()
    with desk.shop.stack.engine.connect() as conn:
        pid = conn.execute(_API).scalar_one()

    os.kill(pid, signal.SIGKILL)

    live.filter(has_text="stale since").wait_for()
    live.filter(has_text=re.compile("^live$")).wait_for(timeout=60_000)
    run = desk.shop.stack.trigger("stores")
    desk.page.locator(f".columns a[aria-label^='{run.run_id}:']").wait_for()


def test_only_pages_that_follow_say_live(desk: Watched) -> None:
    run = desk.shop.run_id("stores")
    for path, live in (
        (f"/dags/stores/runs/{run}/tasks/count/1", True),
        ("/processes", True),
        ("/journal", False),
        ("/dags/stores/graph", False),
    ):
        desk.go(path)
        topics = str(desk.page.locator("body").get_attribute("data-topic"))
        assert bool(topics) is live, path
        if live:
            desk.page.locator("#live", has_text="live").wait_for()
        assert desk.page.locator("#live").is_visible() is live, path
    assert desk.problems == []


def test_a_page_follows_again_when_its_stream_was_refused(desk: Watched) -> None:
    page = desk.page
    page.clock.install()
    page.route("**/live?*", lambda route: route.fulfill(status=503))
    desk.go("/dags/stores")
    page.locator("#live", has_text="stale since").wait_for()
    page.unroute("**/live?*")

    page.clock.run_for(11_000)

    page.locator("#live", has_text=re.compile("^live$")).wait_for()


def test_a_dag_that_somebody_pauses_shows_in_the_list(desk: Watched) -> None:
    desk.go("/dags")
    desk.page.locator("#live", has_text="live").wait_for()

    assert desk.shop.stack.headway("dags", "pause", "wide").returncode == 0

    desk.page.locator("tr", has_text="wide").locator(".chip", has_text="paused").wait_for()
    assert desk.shop.stack.headway("dags", "unpause", "wide").returncode == 0
    desk.page.locator("tr", has_text="wide").locator(".chip").wait_for(state="detached")


def test_the_home_page_follows_pools(desk: Watched) -> None:
    desk.go("/")
    desk.page.locator("#live", has_text="live").wait_for()
    # Other changes are told of all the time, and would bring the pool to the page as well.
    assert desk.page.locator("body").get_attribute("data-topic") == "home pools"

    assert desk.shop.stack.headway("pools", "set", "made_while_watched", "7").returncode == 0

    desk.page.locator("#pools tr", has_text="made_while_watched").wait_for()
    assert desk.shop.stack.headway("pools", "delete", "made_while_watched").returncode == 0


def test_a_log_stays_where_somebody_reads_when_its_page_is_loaded_again(desk: Watched) -> None:
    page, run = desk.page, desk.shop.run_id("exports")
    for number in range(4):
        desk.go(f"/dags/exports/runs/{run}/tasks/export_{number}/attempts/1/log")
        if page.locator("#follow[data-stream]").count():
            break
    page.locator("#live", has_text="live").wait_for()
    page.wait_for_function(AT_THE_END)
    page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
    shown = page.locator(".log li").count()

    with page.expect_response(lambda answer: "/log?" in answer.url or answer.url.endswith("/log")):
        page.evaluate("dispatchEvent(new PopStateEvent('popstate'))")
    page.wait_for_timeout(300)

    assert page.evaluate("scrollY") == 0
    assert page.locator(".log li").count() >= shown
