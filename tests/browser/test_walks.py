"""What people come for, from the home page on, at a desk and on a phone: five questions."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.conftest import PHONE, Shop, Watched, watched

pytestmark = [pytest.mark.browser, pytest.mark.services]


@pytest.fixture(params=["desk", "phone"])
def walker(
    request: pytest.FixtureRequest, browser: Browser, shop: Shop, signed_in: Path
) -> Iterator[Watched]:
    """Somebody at the home page."""
    phone = request.param == "phone"
    screen = PHONE if phone else {"width": 1400, "height": 900}
    context = browser.new_context(storage_state=signed_in, viewport=screen, is_mobile=phone)
    found = watched(context, shop)
    found.go("/")
    yield found
    assert found.problems == []
    context.close()


def test_why_is_this_task_not_running(walker: Watched) -> None:
    page = walker.page
    page.locator("#waiting").get_by_role("link", name=re.compile(r"^export_\d$")).first.click()

    why = page.locator("#why")
    why.wait_for()
    assert "warehouse" in why.inner_text()
    why.get_by_role("link", name=re.compile("exports · export_")).first.click()
    page.locator("dd .s-running").first.wait_for()


def test_what_did_this_change_break(walker: Watched) -> None:
    page = walker.page
    page.locator("#attention").get_by_role("link", name=walker.shop.run_id("rates")).click()
    page.get_by_role("heading", name="First failed task: convert").wait_for()
    assert "KeyError" in page.locator("#failed").inner_text()
    page.get_by_role("link", name="what changed between the two").click()
    page.get_by_role("heading", level=1).wait_for()

    assert 'RATES["SEK"]' in page.locator(".plus").all_inner_texts().__str__()


def test_rerun_a_failed_run_as_it_was(walker: Watched) -> None:
    page, run_id = walker.page, walker.shop.run_id("rates")
    page.locator("#attention").get_by_role("link", name=run_id).click()
    page.get_by_role("link", name="Clear failed tasks").click()
    assert "1 task instance cleared" in page.locator(".said").inner_text()
    assert "it has version 2" in page.locator(".said").inner_text()
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("status").filter(has_text="cleared").wait_for()
    page.get_by_role("link", name="Go on").click()
    page.get_by_role("heading", name="First failed task: convert").wait_for()


def test_backfill_without_disturbing_today(walker: Watched) -> None:
    page = walker.page
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Backfills").click()
    page.get_by_role("link", name="New backfill").click()
    page.get_by_label("DAG", exact=True).fill("orders")
    page.get_by_label("First day").fill("2024-05-01")
    page.get_by_label("Last day").fill("2024-05-03")
    page.get_by_label("Runs that have ended").select_option("completed")
    page.get_by_label("Idle slots only").check()
    page.get_by_role("button", name="Show what it would do").click()
    assert "3 run again" in page.locator("#plan").inner_text()
    page.get_by_label("Reason, for the journal").fill("a walk")
    page.get_by_role("button", name="Create the backfill").click()

    page.get_by_role("heading", name=re.compile(r"Backfill \d+ of orders")).wait_for()
    assert "idle slots only" in page.locator(".facts").inner_text()
    page.get_by_text("3 of 3 have ended").wait_for(timeout=60_000)


def test_who_uses_the_cluster_and_what_does_it_cost(walker: Watched) -> None:
    page = walker.page
    page.locator("#pools").get_by_role("link", name="warehouse").click()
    page.get_by_role("heading", name="Who holds its slots").wait_for()
    assert page.get_by_role("link", name=re.compile(r"^export_\d$")).count() >= 1
    page.get_by_role("navigation", name="Pages").get_by_role("link", name="Cost").click()
    page.get_by_role("heading", name="Cost in Spark").wait_for()
