"""How soon the API answers, how that grows, and what live events cost.

`HEADWAY_BENCH_API=100000x300000` has a tenth of the usual numbers of task instances.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from random import Random
from typing import Final
from urllib.parse import quote

from sqlalchemy import text

from benchmarks.support import bulk_history, server
from benchmarks.support.api.queries import AskedStatements, asked_statements
from benchmarks.support.api.reads import READS, SHOWN, others
from benchmarks.support.api.service import ApiService, api_service, percentile
from benchmarks.support.api.watchers import Watchers, watchers
from benchmarks.support.fleet import fleet
from benchmarks.support.report import Row
from benchmarks.support.server import Database, Server
from benchmarks.support.shapes import Shape, store
from benchmarks.support.throughput import measure_runs
from benchmarks.support.turns import turns
from headway.db.access.logins import Login
from headway.db.core import notices
from headway.testing.data import seed

NAME: Final = "api"
INSTANCES, LARGE = (
    int(each) for each in os.environ.get("HEADWAY_BENCH_API", "1000000x3000000").split("x")
)
DAGS, TASKS = 500, 10
SHOWN_RUNS: Final = 100
"""Runs of the DAG whose runs are shown, where no other DAG has any: pages are as full then."""

REPEAT: Final = 3
ASKED: Final = 200
RATE, RATE_SECONDS = 100.0, 10.0

MOST_AGAINST_QUERIES: Final = 3.0
MOST_GROWTH: Final = 1.2
MANY_DAGS, PAGE = 10_000, 100

STREAMS: Final = 1_000
STREAM_MEGABYTES, STREAM_SHARE = 60.0, 0.1
IDLE_SECONDS, NOBODY_SECONDS = 20.0, 30.0
CHANGES: Final = 100
MOST_WATCHERS: Final = 200
WATCHED: Final = Shape("10 DAGs x 20 runs x 10 tasks", 10, 20, 10)
WATCHED_REPEAT: Final = 10

_PAUSE: Final = text("UPDATE dag SET paused = NOT paused WHERE dag_id = 'watched'")
_RUN_ON: Final = text("UPDATE task_instance SET started_at = now() WHERE dag_id = 'watched'")
_STATEMENTS: Final = text("""
    SELECT coalesce(sum(calls), 0)
      FROM pg_stat_statements
      JOIN pg_roles ON pg_roles.oid = userid
      JOIN pg_database ON pg_database.oid = dbid
     WHERE datname = current_database()
       AND (rolname = :reads OR rolname = :api AND query !~* :own)
""")
_OWN: Final = r"process_beat|^(delete|begin|commit|rollback)\M"
"""What an api process does by itself: it says that it lives, and deletes what has expired."""

_RESET: Final = text("SELECT pg_stat_statements_reset()")


def run() -> Iterator[Row]:
    """Measure reads by the number of task instances, a list of many DAGs, and live events."""
    with server.running() as postgres:
        yield from _reads(postgres)
        with postgres.database("many") as database:
            yield from _many_dags(database)
        with postgres.database("live") as database:
            yield from _streams(database)
        with postgres.database("watched") as database:
            yield from _watched(database)


def _reads(postgres: Server) -> Iterator[Row]:
    """Measure each read with a small, the usual and a large history, in turns."""
    with ExitStack() as stack:
        services: dict[int, tuple[Database, ApiService]] = {}
        for instances in (0, INSTANCES, LARGE):
            database = stack.enter_context(postgres.database(f"reads_{instances}"))
            _fill(database, instances)
            services[instances] = database, stack.enter_context(api_service(database))
        with asked_statements(services[INSTANCES][0], services[INSTANCES][1].token) as asked:
            for path in (*READS, *others()):
                yield from _against_queries(services[INSTANCES][1], asked, path)
        for path, most in READS.items():
            yield from _at_rate({size: api for size, (_, api) in services.items()}, path, most)


def _fill(database: Database, instances: int) -> None:
    store(database.owner, Shape("known", DAGS, 1, TASKS).specs())
    if instances:
        bulk_history.add_history(database.owner, instances // (DAGS * TASKS))
    else:
        bulk_history.add_history(database.owner, SHOWN_RUNS, SHOWN)


def _against_queries(api: ApiService, asked: AskedStatements, path: str) -> Iterator[Row]:
    """Compare a read with what it asks the database, as psql would ask it, one beside the other."""
    answers, queries = [], []
    statements = asked.of(path)
    for _ in turns(REPEAT):
        pairs = [(api.seconds(path), asked.seconds(statements)) for _ in range(ASKED)]
        answers.append(_median([answer for answer, _ in pairs]))
        queries.append(_median([query for _, query in pairs]))
    case = f"{path}, {INSTANCES:,} task instances"
    yield Row.of(NAME, case, "median of an answer", [1e3 * each for each in answers], "ms")
    ratios = [answer / query for answer, query in zip(answers, queries, strict=True)]
    yield Row.at_most(NAME, case, ratios, "", MOST_AGAINST_QUERIES, "against its queries alone")


def _at_rate(services: dict[int, ApiService], path: str, most: float) -> Iterator[Row]:
    """Have requests arrive by chance, 100 a second."""
    found: dict[int, list[float]] = {size: [] for size in services}
    for number in turns(REPEAT):
        for size, api in services.items():
            taken = api.at_rate(path, RATE, RATE_SECONDS, Random(number))
            found[size].append(percentile(taken, 0.99))
    usual = f"{path}, {INSTANCES:,} task instances"
    yield Row.at_most(NAME, usual, found[INSTANCES], "ms", most, "p99 at 100 requests/s")
    ratios = [large / none for large, none in zip(found[LARGE], found[0], strict=True)]
    metric = f"p99 at 100 requests/s with {LARGE:,} task instances, against none"
    yield Row.at_most(NAME, path, ratios, "", MOST_GROWTH, metric)


def _many_dags(database: Database) -> Iterator[Row]:
    """List many DAGs page by page, to the end."""
    seed.store_all(database.owner, [seed.dag(dag_id=f"dag_{nth:05}") for nth in range(MANY_DAGS)])
    bulk_history.vacuum_and_checkpoint(database.owner)
    with api_service(database) as api:
        walks, ratios = [], []
        for _ in turns(REPEAT):
            began = time.perf_counter()
            pages = _pages(api)
            walks.append(time.perf_counter() - began)
            pairs = [*zip(pages[1:11], pages[-10:], strict=True)] * 5
            taken = [(api.seconds(first), api.seconds(last)) for first, last in pairs]
            first, last = (_median(each) for each in zip(*taken, strict=True))
            ratios.append(last / first)
    case = f"{MANY_DAGS:,} DAGs by pages of {PAGE}"
    yield Row.of(NAME, case, "all pages", walks, "s")
    yield Row.at_most(NAME, case, ratios, "", MOST_GROWTH, "the last pages, against the first")


def _pages(api: ApiService) -> list[str]:
    """Ask for each page, and return their paths."""
    found, cursor = [], ""
    while cursor is not None:
        found.append(f"/api/v2/dags?limit={PAGE}&cursor={quote(cursor)}")
        cursor = json.loads(api.get(found[-1]))["next_cursor"]
    assert len(found) == MANY_DAGS // PAGE, len(found)
    return found


def _streams(database: Database) -> Iterator[Row]:
    """Measure idle streams, how soon a change is told, and what it costs that nobody watches."""
    seed.running(database.owner, seed.dag(dag_id="watched"))
    with api_service(database) as api:
        yield from _idle(api)
        yield from _latency(database, api)
        yield from _nobody(database)


def _idle(api: ApiService) -> Iterator[Row]:
    case = f"{STREAMS:,} open streams, nothing changes"
    before, megabytes, shares = api.memory(), [], []
    for _ in turns(REPEAT):
        with watchers(api, [["home"]] * STREAMS):
            time.sleep(2.0)
            cpu, began = api.cpu(), time.perf_counter()
            time.sleep(IDLE_SECONDS)
            shares.append((api.cpu() - cpu) / (time.perf_counter() - began))
            megabytes.append(api.memory() - before)
    yield Row.at_most(NAME, case, megabytes, "MB", STREAM_MEGABYTES, "memory more (PSS)")
    yield Row.at_most(NAME, case, shares, "", STREAM_SHARE, "share of a core")


def _latency(database: Database, api: ApiService) -> Iterator[Row]:
    """Measure from a commit to the event: by a notice, and where only the clock finds it."""
    chance = Random(1)
    with watchers(api, [["dag:watched"]]) as watching:
        told = [_seconds_to_event(database, watching, chance, notice=True) for _ in range(CHANGES)]
    yield Row.at_most(NAME, "from commit to event", [_median(told) * 1e3], "ms", 150, "p50, notice")
    yield Row.at_most(
        NAME, "from commit to event", [percentile(sorted(told), 0.95)], "ms", 400, "p95, notice"
    )
    run = f"run:watched/scheduled__{seed.START.isoformat()}"
    with watchers(api, [[run]]) as watching:
        told = [_seconds_to_event(database, watching, chance, notice=False) for _ in range(CHANGES)]
    yield Row.at_most(
        NAME, "from commit to event", [percentile(sorted(told), 0.95)], "ms", 750, "p95, clock"
    )


def _seconds_to_event(
    database: Database, watching: Watchers, chance: Random, *, notice: bool
) -> float:
    """Commit a change after a while, and return how long its event takes from then on."""
    time.sleep(chance.uniform(0.2, 0.8))
    seen = watching.changes
    with database.owner.begin() as conn:
        conn.execute(_PAUSE if notice else _RUN_ON)
    committed = time.perf_counter()
    if notice:
        notices.send(database.owner, [notices.SCHEDULER])
    watching.until(changes=seen + 1)
    return watching.last - committed


def _nobody(database: Database) -> Iterator[Row]:
    """Ring with nobody watching."""
    with database.owner.begin() as conn:
        conn.execute(_RESET)
    deadline = time.monotonic() + NOBODY_SECONDS
    while time.monotonic() < deadline:
        notices.send(database.owner, [notices.SCHEDULER, notices.WORKER])
        time.sleep(0.1)
    given = {"reads": Login.READONLY, "api": Login.API, "own": _OWN}
    with database.owner.connect() as conn:
        found = float(conn.scalar(_STATEMENTS, given) or 0)
    case = f"nobody watches, notices for {NOBODY_SECONDS:.0f} s"
    yield Row.at_most(NAME, case, [found], "statements", 0, "reads of the API")


def _watched(database: Database) -> Iterator[Row]:
    """Compare what a scheduler gets through with and without watchers of all its DAGs."""
    dags = store(database.owner, WATCHED.specs())
    topics = [[f"dag:dag_{nth % WATCHED.dags:04}", "home"] for nth in range(MOST_WATCHERS)]
    ratios = []
    with api_service(database) as api, fleet(database) as services:
        services.add_scheduler()
        hours = iter(range(0, 1_000_000, WATCHED.runs))

        def rate() -> float:
            first = next(hours)
            runs = range(first, first + WATCHED.runs)
            return 1 / measure_runs(services, dags, runs, WATCHED.instances).seconds

        rate()  # so that nothing is done for the first time
        for number in turns(WATCHED_REPEAT):
            both = {}
            for watched in (number % 2 == 0, number % 2 != 0):
                with watchers(api, topics if watched else []):
                    both[watched] = rate()
            ratios.append(both[True] / both[False])
    case = f"{MOST_WATCHERS} watchers of {WATCHED.name}"
    yield Row.at_least(NAME, case, ratios, "", 0.97, "scheduler's throughput, against no watchers")


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
