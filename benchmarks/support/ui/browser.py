"""A real browser that opens pages with nothing kept of the one before, and says what it took."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from playwright.sync_api import Browser, CDPSession, Page, ViewportSize, sync_playwright

from benchmarks.support.api.service import ApiService

SCREEN: Final[ViewportSize] = {"width": 1400, "height": 900}

_ARGUMENTS: Final = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_PAINT: Final = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
_USABLE: Final = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
_ELEMENTS: Final = "document.querySelectorAll('*').length"


@dataclass(slots=True)
class OpenedPage:
    """A page that is open, and what came over the network for it."""

    page: Page
    session: CDPSession
    received: list[float]

    @property
    def kilobytes(self) -> float:
        """What came so far, as it was sent."""
        return sum(self.received) / 1e3

    @property
    def first_paint(self) -> float:
        """Milliseconds from the request to the first text in sight."""
        return float(self.page.wait_for_function(_PAINT).json_value())  # it may not be told yet

    @property
    def usable(self) -> float:
        """Milliseconds from the request to when all scripts have begun."""
        return float(self.page.evaluate(_USABLE))

    @property
    def elements(self) -> float:
        """How many elements the page has."""
        return float(self.page.evaluate(_ELEMENTS))

    def busy(self) -> float:
        """Return the milliseconds that the page's thread has worked so far."""
        found = self.session.send("Performance.getMetrics")["metrics"]
        return 1e3 * next(float(it["value"]) for it in found if it["name"] == "TaskDuration")


@dataclass(frozen=True, slots=True)
class BenchBrowser:
    """A browser on a desktop, in which an admin is signed in to an API."""

    browser: Browser
    api: ApiService

    @contextmanager
    def opened(self, path: str, *, slower: float = 1.0) -> Iterator[OpenedPage]:
        """Open a page in a browser that keeps nothing, on a CPU that is so many times slower."""
        headers = {"Authorization": f"Bearer {self.api.token}"}
        context = self.browser.new_context(viewport=SCREEN, extra_http_headers=headers)
        page = context.new_page()
        session = context.new_cdp_session(page)
        received: list[float] = []

        def keep(event: dict[str, Any]) -> None:
            received.append(float(event["encodedDataLength"]))

        session.on("Network.loadingFinished", keep)
        for command in ("Network.enable", "Performance.enable"):
            session.send(command)
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        page.goto(f"http://127.0.0.1:{self.api.port}{path}", wait_until="domcontentloaded")
        yield OpenedPage(page, session, received)
        context.close()


@contextmanager
def bench_browser(api: ApiService) -> Iterator[BenchBrowser]:
    """Run the Chromium of this machine."""
    chromium = shutil.which("chromium")
    if chromium is None:
        raise RuntimeError("The benchmark needs the Debian package chromium.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_ARGUMENTS)
        yield BenchBrowser(browser, api)
        browser.close()
