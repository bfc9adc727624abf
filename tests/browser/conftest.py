"""A real browser on pages of real services, with trouble that was planted.

`shop` has run a week: one run has failed, one waits for a full pool, one DAG file is broken.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    ViewportSize,
    sync_playwright,
)
from sqlalchemy import Connection, text
from tests.ready_postgres import beginning_with_a_database

from headway.testing.processes.required import required_program
from headway.testing.services.stack import Stack, running_stack

DAGS: Final = Path(__file__).with_name("dags")
DAYS: Final = 7
PHONE: Final[ViewportSize] = {"width": 360, "height": 740}

_BROKEN: Final = "from headway.sdk import dag\nimport a_module_that_is_missing\n"

_ENDED: Final = text(
    "SELECT count(*) FROM dag_run WHERE dag_id = 'orders' AND state IN ('success', 'failed')"
)
_STATE: Final = text(
    "SELECT 1 FROM task_instance WHERE dag_id = :dag AND state = :state AND attempt >= :attempt"
)

_RATES: Final = text("SELECT 1 FROM dag_run WHERE dag_id = 'rates' AND state = :state")
_SECOND: Final = text(
    "SELECT 1 FROM dag JOIN dag_version AS version ON version.id = dag.version_id "
    "WHERE dag.dag_id = 'rates' AND version.number = 2"
)


@dataclass(slots=True)
class Shop:
    """The services, and where their pages are."""

    stack: Stack
    address: str

    def run_id(self, dag_id: str, state: str | None = None) -> str:
        """Return the latest run of a DAG, in that state."""
        wanted = "SELECT run_id FROM dag_run WHERE dag_id = :dag AND (:state IS NULL OR state = :state) ORDER BY id DESC LIMIT 1"  # noqa: E501
        with self.stack.engine.connect() as conn:
            found = conn.execute(text(wanted), {"dag": dag_id, "state": state})
            return str(found.scalar_one())


@dataclass(slots=True)
class Watched:
    """A page of the browser, and what went wrong in it."""

    page: Page
    shop: Shop
    problems: list[str] = field(default_factory=list)

    def go(self, path: str) -> None:
        """Open a page of the services."""
        self.page.goto(self.shop.address + path)


@pytest.fixture(scope="session")
def shop(
    request: pytest.FixtureRequest,
    until_the_last_test: ExitStack,
    tmp_path_factory: pytest.TempPathFactory,
) -> Shop:
    folder = tmp_path_factory.mktemp("shop")
    shutil.copytree(DAGS, folder / "dags")
    given = {"HEADWAY_API_LOAD_AT_FIRST_REQUEST": "true"}
    with beginning_with_a_database(request.config):
        running = running_stack(folder / "home", folder / "dags", given)
        stack = until_the_last_test.enter_context(running)
    said = (stack.home / "standalone.log").read_text()
    found = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert found is not None, said
    _plant(stack)
    return Shop(stack, found[0])


def _plant(stack: Stack) -> None:
    for pool, slots in (("warehouse", "1"), ("wide", "4")):
        made = stack.headway("pools", "set", pool, slots)
        assert made.returncode == 0, made.stderr
    for dag_id in ("stores", "hostile", "exports", "rates", "wide", "parcels", "lanes"):
        stack.trigger(dag_id)
    stack.until(lambda conn: conn.execute(_ENDED).scalar_one() == DAYS, "a week of orders")
    stack.until(_is_stuck, "a full pool")
    _break_rates(stack)
    (stack.dags / "broken.py").write_text(_BROKEN)
    stack.wait_for_import_error("broken.py")


def _break_rates(stack: Stack) -> None:
    """Edit a DAG that has succeeded, so that its next run fails."""
    stack.until(lambda conn: conn.execute(_RATES, {"state": "success"}).first(), "rates")
    file = stack.dags / "rates.py"
    file.write_text(file.read_text().replace('RATES["EUR"]', 'RATES["SEK"]'))
    stack.until(lambda conn: conn.execute(_SECOND).first(), "a second version of rates")
    stack.trigger("rates")
    stack.until(lambda conn: conn.execute(_RATES, {"state": "failed"}).first(), "broken rates")


def _is_stuck(conn: Connection) -> bool:
    runs = {"dag": "exports", "state": "running", "attempt": 1}
    waits = {"dag": "exports", "state": "scheduled", "attempt": 0}
    return all(conn.execute(_STATE, each).first() for each in (runs, waits))


@pytest.fixture(scope="session")
def browser(until_the_last_test: ExitStack) -> Browser:
    """A browser for all tests here: Playwright keeps an event loop in its thread.

    While it does, no other test can run one.
    """
    chromium = required_program("chromium", "chromium")
    playwright = until_the_last_test.enter_context(sync_playwright())
    return playwright.chromium.launch(
        executable_path=chromium,
        args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
    )


@pytest.fixture(scope="session")
def signed_in(browser: Browser, shop: Shop, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cookies of a browser in which the admin is signed in, by a link."""
    linked = shop.stack.headway("accounts", "link", "admin", "--at", shop.address)
    link = re.search(r"http://\S+", linked.stdout)
    assert link is not None, linked
    context = browser.new_context()
    page = context.new_page()
    page.goto(link[0])
    page.get_by_text("You are signed in as admin").wait_for()
    kept = tmp_path_factory.mktemp("browser") / "cookies.json"
    context.storage_state(path=kept)
    context.close()
    return kept


def watched(context: BrowserContext, shop: Shop) -> Watched:
    """Return a page that keeps what its console says, and what its policy refuses."""
    found = Watched(context.new_page(), shop)
    found.page.on(
        "console",
        lambda said: (
            found.problems.append(said.text) if said.type in {"error", "warning"} else None
        ),
    )
    found.page.on("pageerror", lambda error: found.problems.append(str(error)))
    return found


@pytest.fixture
def desk(browser: Browser, shop: Shop, signed_in: Path) -> Iterator[Watched]:
    """A browser on a desktop, in which the admin is signed in."""
    context = browser.new_context(
        storage_state=signed_in, viewport={"width": 1400, "height": 900}, timezone_id="Asia/Kolkata"
    )
    yield watched(context, shop)
    context.close()
