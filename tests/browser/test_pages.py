"""Every page: nothing goes wrong, everybody can read it, and it fits on a phone."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from tests.browser.conftest import PHONE, Shop, Watched, watched

pytestmark = [pytest.mark.browser, pytest.mark.services]

PAGES: Final[Mapping[str, Callable[[Shop], str]]] = {
    "home": lambda _: "/",
    "DAGs": lambda _: "/dags",
    "runs": lambda _: "/runs",
    "grid": lambda _: "/dags/orders",
    "graph": lambda _: "/dags/orders/graph",
    "calendar": lambda _: "/dags/orders/calendar?month=2024-05",
    "versions": lambda _: "/dags/orders/versions",
    "version": lambda _: "/dags/orders/versions/1",
    "code": lambda _: "/dags/orders/versions/1/files/shop.py",
    "failed run": lambda shop: f"/dags/orders/runs/{shop.run_id('orders', 'failed')}",
    "graph of a run": lambda shop: f"/dags/orders/runs/{shop.run_id('orders')}/graph",
    "task": lambda shop: f"/dags/orders/runs/{shop.run_id('orders', 'failed')}/tasks/load",
    "waiting task": lambda shop: f"/dags/exports/runs/{shop.run_id('exports')}/tasks/export_3",
    "mapped task": lambda shop: f"/dags/stores/runs/{shop.run_id('stores')}/tasks/count",
    "log": lambda shop: (
        f"/dags/orders/runs/{shop.run_id('orders', 'failed')}/tasks/load/attempts/2/log"
    ),
    "clear": lambda shop: f"/dags/orders/runs/{shop.run_id('orders', 'failed')}/clear?failed=true",
    "trigger": lambda _: "/dags/stores/trigger",
    "cell": lambda shop: (
        f"/dags/orders?at_task=load&at_run={quote(shop.run_id('orders', 'failed'))}"
    ),
    "difference": lambda _: "/dags/rates/versions/1/diff/2",
    "run that an edit broke": lambda shop: f"/dags/rates/runs/{shop.run_id('rates', 'failed')}",
    "large grid": lambda _: "/dags/wide",
    "grid of groups": lambda shop: (
        f"/dags/parcels?folded=north.customs&at_task=north&at_run={quote(shop.run_id('parcels'))}"
    ),
    "run of groups": lambda shop: (
        f"/dags/parcels/runs/{shop.run_id('parcels')}?folded=north.customs"
    ),
    "backfills": lambda _: "/backfills",
    "new backfill": lambda _: (
        "/backfills/new?dag=orders&since=2024-05-01&until=2024-05-07&reprocess=failed"
    ),
    "connections": lambda _: "/connections",
    "variables": lambda _: "/variables",
    "pools": lambda _: "/pools",
    "pool": lambda _: "/pools/warehouse?slots=3",
    "journal": lambda _: "/journal",
    "processes": lambda _: "/processes",
    "deadlines": lambda _: "/deadlines",
    "notifications": lambda _: "/messages",
    "callbacks": lambda _: "/messages?kind=callbacks",
    "cost": lambda _: "/cost",
    "tokens": lambda _: "/tokens",
    "accounts": lambda _: "/accounts",
    "missing": lambda _: "/dags/none",
}
_OF_MISSING: Final = "the server responded with a status of 404"
_AXE: Final = Axe()
_VIOLATIONS: Final[Mapping[str, object]] = {"resultTypes": ["violations"]}
_OF_COLOURS: Final[Mapping[str, object]] = {
    **_VIOLATIONS,
    "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
"""The rules about what another theme changes."""
_RULES: Final[Mapping[Literal["light", "dark"], Mapping[str, object]]] = {
    "light": _VIOLATIONS,
    "dark": _OF_COLOURS,
}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_goes_wrong_and_everybody_can_read_it(desk: Watched, name: str) -> None:
    """A page is opened once, and seen in both themes and on a phone: to open one takes long."""
    desk.go(PAGES[name](desk.shop))
    desk.page.get_by_role("heading", level=1).first.wait_for()

    for theme, rules in _RULES.items():
        desk.page.emulate_media(color_scheme=theme)
        found = _AXE.run(desk.page, options=rules)
        assert found.violations_count == 0, f"{theme}: {found.generate_report()}"
    desk.page.set_viewport_size(PHONE)
    width = desk.page.evaluate("document.documentElement.scrollWidth")

    assert width <= PHONE["width"]
    assert [it for it in desk.problems if _OF_MISSING not in it] == []


def test_a_page_without_script_has_all_that_matters(
    browser: Browser, shop: Shop, signed_in: Path
) -> None:
    context = browser.new_context(storage_state=signed_in, java_script_enabled=False)
    page = watched(context, shop)

    page.go("/")
    page.page.get_by_role("link", name="DAGs", exact=True).click()
    page.page.get_by_label("Name").fill("ord")
    page.page.get_by_role("button", name="Show").click()
    assert page.page.url.endswith("/dags?q=ord&tag=&state=&paused=")
    page.page.get_by_role("link", name="orders", exact=True).click()
    assert page.page.get_by_role("heading", level=1).inner_text().startswith("orders")

    context.close()
