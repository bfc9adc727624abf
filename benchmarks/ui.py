"""How soon pages are there, how much they weigh, and how soon they show what has changed.

Times of pages are of a real browser that keeps nothing.  Each is given in milliseconds, and
against the queries of the page as psql would ask them in the same run.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

from sqlalchemy import text

from benchmarks.support import server
from benchmarks.support.api.queries import AskedStatements, asked_statements
from benchmarks.support.api.service import ApiService, api_service, percentile
from benchmarks.support.report import Row
from benchmarks.support.server import Database, Server
from benchmarks.support.turns import turns
from benchmarks.support.ui import sizes
from benchmarks.support.ui.browser import BenchBrowser, OpenedPage, bench_browser
from benchmarks.support.ui.tabs import bench_tabs
from headway.db.core import notices

NAME: Final = "ui"
DAGS, RUNS, GRID_TASKS = 500, 200, 1_000
WIDE_TASKS, WIDE_RUNS = (
    int(each) for each in os.environ.get("HEADWAY_BENCH_UI", "5000x365").split("x")
)
REPEAT: Final = 3
CHANGES: Final = 40
SLOW: Final = 4.0
PATIENCE: Final = 60.0
MOST_TABS, TABBED, TAB_CHANGES = 200, 10, 30

RUN: Final = "scheduled__1990-01-01%2001:00:00+00"
PAGES: Final = {
    "home": "/",
    f"{DAGS} DAGs": "/dags",
    "grid, 10 tasks x 25 runs": "/dags/dag_0001",
    "run of 10 tasks": f"/dags/dag_0001/runs/{RUN}",
    "task": f"/dags/dag_0001/runs/{RUN}/tasks/task_0001",
    "runs": "/runs",
    "journal": "/journal",
}
LINE: Final = "/api/v2/version"
GRID_PAGE: Final = f"/dags/{sizes.GRID}?runs=100"
LOG_PAGE: Final = f"/dags/{sizes.LOGGED}/runs/{sizes.LOG_RUN}/tasks/work/attempts/1/log"

_PAUSE: Final = text("UPDATE dag SET paused = NOT paused WHERE dag_id = 'dag_0001'")
_PAUSE_ONE: Final = text("UPDATE dag SET paused = NOT paused WHERE dag_id = :dag")
_DRAWN: Final = "document.querySelector('.grid tr.gap') !== null"
_ROW: Final = "document.querySelector('.grid .cells').getAttribute('aria-label')"
_WATCH: Final = """() => {
    window.seen = [];
    new MutationObserver(() => window.seen.push(performance.timeOrigin + performance.now()))
        .observe(document.querySelector('h1'), {subtree: true, childList: true});
}"""
_SEEN: Final = "number => window.seen.length > number ? window.seen.at(-1) : 0"
_FLING: Final = """async () => {
    const [taken, far] = [[], document.documentElement.scrollHeight];
    let before = performance.now();
    for (let nth = 0; nth < 120; nth += 1) {
        window.scrollTo(0, (far * nth) / 120);
        await new Promise(requestAnimationFrame);
        taken.push(performance.now() - before);
        before = performance.now();
    }
    return taken.sort((one, other) => one - other)[114];
}"""


def run() -> Iterator[Row]:
    """Measure pages of usual sizes, the largest ones, and how soon a commit shows."""
    with server.running() as postgres:
        with postgres.database("lists") as database:
            sizes.fill_lists(database, DAGS, RUNS, GRID_TASKS)
            yield from _usual(database)
        yield from _largest(postgres)


def _usual(database: Database) -> Iterator[Row]:
    with (
        api_service(database) as api,
        asked_statements(database, api.token) as asked,
        bench_browser(api) as browser,
    ):
        yield from _least(browser)
        for name, path in PAGES.items():
            yield from _page(browser, asked, name, path)
        yield from _grid(browser, asked)
        yield from _long_run(browser, asked)
        yield from _graphs(database, api)
        yield from _commit_to_pixel(database, browser)
        yield from _many_tabs(database, api)
        yield from _log(database, browser)


def _least(browser: BenchBrowser) -> Iterator[Row]:
    """Measure what the browser itself takes: a line of text that costs the API nothing."""
    paint, slow = [], []
    for _ in turns(REPEAT):
        with browser.opened(LINE) as opened:
            paint.append(opened.first_paint)
        with browser.opened(LINE, slower=SLOW) as opened:
            slow.append(opened.first_paint)
    yield Row.of(NAME, "a line of text", "first paint", paint, "ms")
    yield Row.of(NAME, "a line of text", "first paint at a quarter of the CPU", slow, "ms")


def _page(browser: BenchBrowser, asked: AskedStatements, case: str, path: str) -> Iterator[Row]:
    """Measure the first paint and when a page is usable, also on a CPU of a quarter's speed."""
    statements = asked.of(path)
    paint, usable, slow, sent, ratios = [], [], [], [], []
    for _ in turns(REPEAT):
        queries = 1e3 * asked.seconds(statements)
        with browser.opened(path) as opened:
            paint.append(opened.first_paint)
            usable.append(opened.usable)
            sent.append(opened.kilobytes)
            ratios.append(opened.first_paint / queries)
        with browser.opened(path, slower=SLOW) as opened:
            slow.append(opened.usable)
    yield Row.at_most(NAME, case, paint, "ms", 200, "first paint")
    yield Row.of(NAME, case, "first paint, against its queries alone", ratios, "")
    yield Row.at_most(NAME, case, usable, "ms", 400, "usable")
    yield Row.at_most(NAME, case, slow, "ms", 1_000, "usable at a quarter of the CPU")
    yield Row.at_most(NAME, case, sent, "kB", 70, "sent for the first visit")


def _grid(browser: BenchBrowser, asked: AskedStatements) -> Iterator[Row]:
    case = f"grid, {GRID_TASKS:,} x 100"
    first, again, drawn, sent, elements, fling, slow = [], [], [], [], [], [], []
    for _ in turns(REPEAT):
        first.append(1e3 * browser.api.seconds(GRID_PAGE))
        again.append(1e3 * browser.api.seconds(GRID_PAGE))
        with browser.opened(GRID_PAGE) as opened:
            drawn.append(_when(opened, _DRAWN))
            elements.append(opened.elements)
            fling.append(float(opened.page.evaluate(_FLING)))
            sent.append(opened.kilobytes)
        with browser.opened(GRID_PAGE, slower=SLOW) as opened:
            _when(opened, _DRAWN)
            slow.append(float(opened.page.evaluate(_FLING)))
    statements = asked.of(GRID_PAGE)
    ratios = [took / (1e3 * asked.seconds(statements)) for took in again]
    yield Row.at_most(NAME, case, first, "ms", 150, "server")
    yield Row.at_most(NAME, case, again, "ms", 30, "server, once more")
    yield Row.of(NAME, case, "server, against its queries alone", ratios, "")
    yield Row.at_most(NAME, case, drawn, "ms", 400, "all cells are there")
    yield Row.at_most(NAME, case, sent, "kB", 90, "sent for the first visit")
    yield Row.at_most(NAME, case, elements, "elements", 1_000, "in the page")
    yield Row.at_most(NAME, case, fling, "ms", 20, "p95 of a frame while scrolling")
    yield Row.at_most(NAME, case, slow, "ms", 33, "the same at a quarter of the CPU")


def _long_run(browser: BenchBrowser, asked: AskedStatements) -> Iterator[Row]:
    case, path = f"run of {GRID_TASKS:,} tasks", f"/dags/{sizes.GRID}/runs/{RUN}"
    took, paint = [], []
    for _ in turns(REPEAT):
        took.append(1e3 * browser.api.seconds(path))
        with browser.opened(path) as opened:
            paint.append(opened.first_paint)
    ratios = [each / (1e3 * asked.seconds(asked.of(path))) for each in took]
    yield Row.at_most(NAME, case, took, "ms", 100, "server, with the critical path")
    yield Row.of(NAME, case, "server, against its queries alone", ratios, "")
    yield Row.at_most(NAME, case, paint, "ms", 300, "first paint")


def _graphs(database: Database, api: ApiService) -> Iterator[Row]:
    """Measure graphs that nobody has looked at before: each is laid out."""
    for tasks, most in ((1_000, 50), (5_000, 250)):
        names = iter(sizes.enter_graphs(database, tasks, REPEAT))
        took = [1e3 * api.seconds(f"/dags/{next(names)}/graph") for _ in turns(REPEAT)]
        yield Row.at_most(NAME, f"graph of {tasks:,} tasks", took, "ms", most, "server, first time")


def _commit_to_pixel(database: Database, browser: BenchBrowser) -> Iterator[Row]:
    """Measure from a commit of another process to the change of the page."""
    chance, taken = Random(1), []
    with browser.opened("/dags/dag_0001") as opened:
        opened.page.locator("#live", has_text="live").wait_for()
        opened.page.evaluate(_WATCH)
        for number in range(CHANGES):
            time.sleep(chance.uniform(0.6, 1.0))
            with database.owner.begin() as conn:
                conn.execute(_PAUSE)
            committed = time.time()
            notices.send(database.owner, [notices.SCHEDULER])
            while not (seen := float(opened.page.evaluate(_SEEN, number))):
                time.sleep(0.002)
            taken.append(seen / 1e3 - committed)
    taken.sort()
    yield Row.at_most(NAME, "from commit to pixel", [percentile(taken, 0.5)], "ms", 150, "p50")
    yield Row.at_most(NAME, "from commit to pixel", [percentile(taken, 0.95)], "ms", 400, "p95")
    yield from _update(database, browser)


def _update(database: Database, browser: BenchBrowser) -> Iterator[Row]:
    """Measure what 200 cells that change cost the page's thread."""
    taken = []
    with browser.opened(GRID_PAGE) as opened:
        _when(opened, _DRAWN)
        opened.page.locator("#live", has_text="live").wait_for()
        for _ in turns(REPEAT):
            opened.page.wait_for_timeout(1_500)
            sizes.change_cells(database)
            shown = opened.page.evaluate(_ROW)
            before = opened.busy()
            notices.send(database.owner, [notices.SCHEDULER])
            opened.page.wait_for_timeout(1_000)  # to ask meanwhile would be work of the page, too
            taken.append(opened.busy() - before)
            if opened.page.evaluate(_ROW) == shown:
                raise RuntimeError("The cells that have changed are not drawn.")
    yield Row.at_most(NAME, "200 cells change", taken, "ms", 8, "work of the page's thread")


def _many_tabs(database: Database, api: ApiService) -> Iterator[Row]:
    """Compare what 200 tabs on 10 DAGs cost the API with 10 tabs, while these DAGs change."""
    dags = [f"dag_{nth:04}" for nth in range(1, TABBED + 1)]
    shown = [(f"dag:{dag}", f"/dags/{dag}") for dag in dags]
    case = f"{MOST_TABS} tabs on {TABBED} DAGs"
    ratios: list[float] = []
    sent: list[float] = []
    for number in turns(REPEAT):
        cost = {}
        for many in (number % 2 == 0, number % 2 != 0):
            with bench_tabs(api, shown * (MOST_TABS // TABBED if many else 1)) as tabs:
                before, cpu = tabs.pages, api.cpu()
                for nth in range(TAB_CHANGES):
                    with database.owner.begin() as conn:
                        conn.execute(_PAUSE_ONE, {"dag": dags[nth % TABBED]})
                    notices.send(database.owner, [notices.SCHEDULER])
                    time.sleep(0.5)
                cost[many] = api.cpu() - cpu
                if many:
                    sent.append(float(tabs.pages - before))
        ratios.append(cost[True] / cost[False])
    yield Row.at_most(NAME, case, ratios, "", 1.05, "CPU of the API, against one tab a DAG")
    yield Row.of(NAME, case, f"pages that came for {TAB_CHANGES} changes", sent, "pages")


def _log(database: Database, browser: BenchBrowser) -> Iterator[Row]:
    path = sizes.write_log(database, browser.api.home)
    paint, elements, taken = [], [], []
    for _ in turns(REPEAT):
        with browser.opened(LOG_PAGE) as opened:
            paint.append(opened.first_paint)
            elements.append(float(opened.page.locator(".log li").count()))
            taken += [_line_comes(opened, path, nth) for nth in range(10)]
    case = f"log of {sizes.LOG_BYTES / 1e6:.0f} MB"
    yield Row.at_most(NAME, case, paint, "ms", 300, "its end")
    yield Row.at_most(NAME, case, elements, "elements", 400, "lines in the page")
    yield Row.at_most(NAME, case, sorted(taken), "s", 0.5, "a new line, from the file to the page")


def _line_comes(opened: OpenedPage, path: Path, number: int) -> float:
    time.sleep(0.37)
    message = f"line {time.time_ns()} of {number}"
    with path.open("ab") as file:
        file.write(sizes.log_line(message))
    began = time.perf_counter()
    opened.page.locator(".log .text", has_text=message).wait_for()
    return time.perf_counter() - began


def _largest(postgres: Server) -> Iterator[Row]:
    case = f"grid, {WIDE_TASKS:,} x {WIDE_RUNS}"
    with postgres.database("wide") as database:
        sizes.fill_lists(database, 1, WIDE_RUNS, WIDE_TASKS)
        with api_service(database) as api, bench_browser(api) as browser:
            first, drawn, sent = [], [], []
            for _ in turns(REPEAT):
                with browser.opened(GRID_PAGE) as opened:
                    first.append(_when(opened, _DRAWN))
                with browser.opened(f"/dags/{sizes.GRID}?runs={WIDE_RUNS}") as opened:
                    drawn.append(_when(opened, _DRAWN))
                    sent.append(opened.kilobytes)
    yield Row.at_most(NAME, case, first, "ms", 1_000, "the first 100 columns are there")
    yield Row.at_most(NAME, case, drawn, "ms", 3_000, "all columns are there")
    yield Row.at_most(NAME, case, sent, "kB", 200, "sent for the first visit")


def _when(opened: OpenedPage, condition: str) -> float:
    """Return when something was so, in milliseconds from the request on."""
    until = time.monotonic() + PATIENCE
    while not opened.page.evaluate(condition):
        if time.monotonic() > until:
            raise RuntimeError(f"The page is not complete after {PATIENCE:.0f} s: {condition}")
        time.sleep(0.005)
    return float(opened.page.evaluate("performance.now()"))
