"""Pages follow what other processes commit, and tell when they cannot."""

import pytest
from tests.browser.conftest import Watched

pytestmark = [pytest.mark.browser, pytest.mark.services]


def test_a_change_of_another_process_shows(desk: Watched) -> None:
    desk.go("/dags/stores")
    desk.page.locator("#live", has_text="live").wait_for()
    before = desk.page.locator(".columns a").count()

    run = desk.shop.stack.trigger("stores")

    desk.page.locator(f".columns a[aria-label='{run.run_id}: success']").wait_for()
    assert desk.page.locator(".columns a").count() == before + 1
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
