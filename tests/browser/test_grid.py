"""Cells of a grid by mouse and keyboard, rows that are scrolled to, and a rectangle of cells."""

import re

import pytest
from playwright.sync_api import Locator, Position
from tests.browser.conftest import Watched

pytestmark = [pytest.mark.browser, pytest.mark.services]


def cell(desk: Watched, task: str, nth: int) -> tuple[Locator, Position]:
    """Return the row of a task, and where its cell of the nth run is."""
    return desk.page.locator(f".cells[data-task='{task}']"), {"x": 16.0 * nth + 8, "y": 8.0}


def resize(desk: Watched, tasks: int) -> None:
    """Have the DAG `sizes` so many tasks, as it never had before."""
    stack = desk.shop.stack
    before = stack.dag("sizes").version
    assert before is not None
    file = stack.dags / "sizes.py"
    file.write_text(re.sub(r"TASKS = \d+", f"TASKS = {tasks}", file.read_text()))
    stack.wait_for_version("sizes", before + 1)


def test_a_click_opens_a_cell_and_the_address_says_which(desk: Watched) -> None:
    desk.go("/dags/orders")
    row, place = cell(desk, "load", 3)
    row.click(position=place)

    desk.page.locator("#panel").get_by_role("heading", name="load").wait_for()
    assert "column 'amount' is missing" in desk.page.locator("#panel").inner_text()
    assert "at_task=load" in desk.page.url
    desk.page.reload()
    desk.page.locator("#panel").get_by_role("heading", name="load").wait_for()
    desk.page.go_back()
    desk.page.locator("#panel").wait_for(state="detached")
    assert desk.problems == []


def test_arrows_move_and_enter_opens(desk: Watched) -> None:
    desk.go("/dags/orders")
    desk.page.get_by_role("region", name="Tasks by runs").focus()
    desk.page.keyboard.press("ArrowLeft")
    desk.page.locator("#panel").wait_for()
    first = desk.page.locator("#panel > h2").inner_text()
    desk.page.keyboard.press("ArrowDown")
    desk.page.locator("#panel > h2", has_not_text=first).wait_for()
    chosen = desk.page.locator("#panel > h2").inner_text()
    desk.page.keyboard.press("Enter")
    desk.page.wait_for_url(f"**/tasks/{chosen}")


def test_shift_chooses_a_rectangle_which_is_changed_with_one_preview(desk: Watched) -> None:
    desk.go("/dags/orders")
    row, place = cell(desk, "extract", 0)
    row.click(position=place)
    desk.page.locator("#panel > h2", has_text="extract").wait_for()
    row, place = cell(desk, "extract", 2)
    row.click(position=place, modifiers=["Shift"])

    desk.page.locator("#panel", has_text="3 cells").wait_for()
    assert desk.page.locator(".chosen").count() == 3
    desk.page.locator("#panel").get_by_role("link", name="Mark as failed").click()
    assert "marked failed in 3 runs" in desk.page.locator(".said").inner_text()


def test_rows_come_when_they_are_scrolled_to(desk: Watched) -> None:
    desk.go("/dags/wide")
    desk.page.locator(".grid tr.gap").first.wait_for(state="attached")
    assert desk.page.locator(".cells[data-task='step_129']").count() == 0

    desk.page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")

    desk.page.locator(".cells[data-task='step_129']").wait_for()
    assert desk.page.locator(".grid tbody tr").count() < 130
    row, place = cell(desk, "step_129", 0)
    assert "success" in str(row.get_attribute("aria-label"))
    row.click(position=place)
    desk.page.locator("#panel > h2", has_text="step_129").wait_for()
    assert desk.problems == []


def test_groups_fold_where_they_stand_by_the_keyboard(desk: Watched) -> None:
    page = desk.page
    desk.go("/dags/parcels")
    page.get_by_role("link", name="north", exact=True).focus()
    page.keyboard.press("Enter")
    page.locator(".cells[data-task='north.weigh']").wait_for(state="detached")
    assert page.url.endswith("/dags/parcels?folded=north")
    assert page.evaluate("document.activeElement.textContent") == "▸ north"
    row, place = cell(desk, "north", 0)
    row.click(position=place)
    page.locator("#panel", has_text="2 tasks").wait_for()
    page.get_by_role("region", name="Tasks by runs").focus()
    page.keyboard.press("Enter")  # as a click on the name in the panel does
    page.locator(".cells[data-task='north.customs.declare']").wait_for()

    desk.go(f"/dags/parcels/runs/{desk.shop.run_id('parcels')}")
    page.get_by_role("link", name="customs", exact=True).click()
    page.locator("#times th", has_text="Declare").wait_for(state="detached")
    assert page.evaluate("scrollY") > 0
    page.go_back()
    page.locator("#times th", has_text="Declare").wait_for()
    assert desk.problems == []


def test_groups_of_a_large_grid_fold_where_they_stand(desk: Watched) -> None:
    page = desk.page
    desk.go("/dags/lanes?folded=part_00")
    page.locator(".grid tr.gap").first.wait_for(state="attached")
    assert page.locator(".cells[data-task='part_00.lane_0']").count() == 0
    page.get_by_role("link", name="part_00").focus()
    page.keyboard.press("Enter")
    page.locator(".cells[data-task='part_00.lane_0']").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "▾ part_00"

    page.get_by_role("link", name="fold all", exact=True).click()

    page.locator(".cells[data-task='part_00.lane_0']").wait_for(state="detached")
    assert page.locator(".grid tbody .cells").count() == 12
    assert page.url.count("folded=part_") == 12
    page.go_back()
    page.locator(".cells[data-task='part_01.lane_4']").wait_for()
    assert desk.problems == []


def test_rows_of_a_large_grid_are_reached_without_script(desk: Watched) -> None:
    context = desk.page.context.browser
    assert context is not None
    plain = context.new_context(
        java_script_enabled=False, storage_state=desk.page.context.storage_state()
    )
    page = plain.new_page()
    page.goto(desk.shop.address + "/dags/wide")
    page.get_by_role("link", name="those after").click()
    page.get_by_role("link", name="those after").click()
    assert page.locator(".cells").last.get_attribute("data-task") == "step_129"
    plain.close()


def test_a_rectangle_is_outlined_in_rows_that_a_script_has_drawn(desk: Watched) -> None:
    desk.go("/dags/wide")
    desk.page.locator(".grid tr.gap").first.wait_for(state="attached")
    row, place = cell(desk, "step_001", 0)
    row.click(position=place)
    desk.page.locator("#panel > h2", has_text="step_001").wait_for()
    row, place = cell(desk, "step_003", 0)
    row.click(position=place, modifiers=["Shift"])

    desk.page.locator("#panel", has_text="3 cells").wait_for()
    for task in ("step_001", "step_002", "step_003"):
        desk.page.locator(f".cells[data-task='{task}'] .chosen").wait_for(state="attached")
    assert desk.page.locator(".grid .chosen").count() == 3
    assert not desk.page.locator(".paging").is_visible()


def test_a_grid_follows_when_its_tasks_become_few_and_many_again(desk: Watched) -> None:
    page, stack = desk.page, desk.shop.stack
    resize(desk, 61)
    stack.run("sizes")
    desk.go("/dags/sizes?runs=1")
    page.locator("#live", has_text="live").wait_for()
    page.locator(".grid tr.gap").first.wait_for(state="attached")
    page.evaluate("window.isSame = true")

    resize(desk, 45)
    run = stack.trigger("sizes")

    page.locator(f".columns a[aria-label='{run.run_id}: success']").wait_for()
    page.locator(".grid tr.gap").first.wait_for(state="detached")
    page.locator(".cells[data-task='part_44'][aria-label$='1 success']").wait_for()
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    assert page.locator(".grid tbody tr").count() == 45
    assert not page.locator("tbody[data-cells]").count()

    resize(desk, 62)
    run = stack.trigger("sizes")

    page.locator(".grid tr.gap").first.wait_for(state="attached")
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    page.locator(".cells[data-task='part_61'][aria-label$='1 success']").wait_for()
    page.locator(f".columns a[aria-label='{run.run_id}: success']").wait_for()
    assert page.evaluate("window.isSame")
    assert desk.problems == []


def test_a_grid_that_gets_rows_again_follows(desk: Watched) -> None:
    page, stack = desk.page, desk.shop.stack
    resize(desk, 63)
    desk.go("/dags/sizes?runs=1&state=running")
    page.locator("#live", has_text="live").wait_for()
    for _ in range(2):
        page.locator(".empty", has_text="No run matches").wait_for()
        run = stack.trigger("sizes")
        page.locator(f".columns a[aria-label='{run.run_id}: running']").wait_for()
        page.locator(".cells[data-task='part_00'][aria-label$='1 success']").wait_for()
        page.locator(".grid tr.gap").first.wait_for(state="attached")
    page.locator(".empty", has_text="No run matches").wait_for()
    assert desk.problems == []
