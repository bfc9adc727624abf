"""The way to a failure by the keyboard alone, and the state of controls."""

import pytest
from tests.browser.conftest import Watched

pytestmark = [pytest.mark.browser, pytest.mark.services]


def test_a_failure_is_found_and_cleared_by_the_keyboard(desk: Watched) -> None:
    page = desk.page
    desk.go("/")
    page.get_by_role("link", name=desk.shop.run_id("orders", "failed")).first.focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="First failed task: load").wait_for()
    assert "column 'amount' is missing" in page.locator("#failed").inner_text()
    page.get_by_role("link", name="Clear failed tasks").focus()
    page.keyboard.press("Enter")
    page.get_by_text("This is what happens").wait_for()
    assert "2 task instances cleared" in page.locator(".said").inner_text()
    page.get_by_role("button", name="Clear").focus()
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text="cleared").wait_for()
    page.get_by_role("link", name="Go on").click()
    page.locator("dd .s-failed").first.wait_for()  # it fails again
    page.get_by_role("heading", name="First failed task: load").wait_for()


def test_keys_are_told_and_lead_to_pages(desk: Watched) -> None:
    desk.go("/")
    desk.page.keyboard.press("?")
    desk.page.get_by_role("heading", name="Keys").wait_for()
    desk.page.keyboard.press("Escape")
    desk.page.keyboard.press("g")
    desk.page.keyboard.press("d")
    desk.page.wait_for_url("**/dags")
    desk.page.keyboard.press("/")
    assert desk.page.evaluate("document.activeElement.name") == "q"


@pytest.mark.parametrize("zone", ["utc", "mine"])
def test_times_are_in_the_zone_that_is_chosen(desk: Watched, zone: str) -> None:
    desk.go(f"/dags/orders/runs/{desk.shop.run_id('orders')}?tz={zone}")

    shown = desk.page.locator("dd time").first
    expected = {"utc": "00:00:00", "mine": "05:30:00"}[zone]
    desk.page.locator("dd time", has_text=expected).first.wait_for()
    desk.page.reload()
    desk.page.locator("dd time", has_text=expected).first.wait_for()
    assert shown.get_attribute("datetime") is not None


def test_the_theme_that_is_chosen_stays(desk: Watched) -> None:
    desk.page.emulate_media(color_scheme="light")
    desk.go("/dags")
    desk.page.keyboard.press("t")
    dark = desk.page.evaluate("getComputedStyle(document.body).backgroundColor")
    desk.page.reload()
    assert (
        desk.page.evaluate("getComputedStyle(document.body).backgroundColor")
        == dark
        == ("rgb(17, 21, 27)")
    )
