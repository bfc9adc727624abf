"""The plans of every list: a page looks at no more rows than it says, however long history is."""

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.core import engine as engines
from headway.db.reads import backfill_views, history, spark_views, task_views
from headway.db.reads.charts import calendar, grid_cells, run_times
from headway.db.reads.live import dag_entries, home_entries, run_entries
from headway.db.reads.pages import (
    attempt_pages,
    backfill_pages,
    dag_pages,
    event_pages,
    name_search,
    paging,
    pool_pages,
    process_pages,
    run_pages,
    task_pages,
    version_pages,
    xcom_pages,
)
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.db.reads.pages.dag_pages import DagOrder
from headway.db.reads.pages.paging import Asked, ListPage, TimeRange
from headway.db.reads.pages.run_pages import RunFilter, RunOrder
from headway.db.reads.pages.task_pages import TaskFilter
from headway.db.reads.pages.xcom_pages import XComFilter
from headway.decide.charts.grid import RETRIED
from headway.domain.states import RunState, TaskState
from headway.testing.data import bulk_history, seed
from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.database.query_plans import QueryPlan, explained

DAGS = 25
LATEST = "scheduled__1990-01-02 00:00:00+00"
"""The id of a run of each DAG."""

GROWING = {"dag_run", "task_instance", "task_attempt", "xcom", "event", "backfill_date"}
EVENTS = text("""
    INSERT INTO event (actor, action, dag_id)
    SELECT 'user:ann', 'dag.pause', 'idle' || n % 25 FROM generate_series(1, 100000) AS n
""")

SPARK = text("""
    UPDATE task_attempt SET handle = '{"kind": "connect"}' WHERE task_instance_id % 100 = 0
""")
LATER = datetime(2100, 1, 1, tzinfo=UTC)
A_DAY = TimeRange(datetime(1990, 1, 5, tzinfo=UTC), datetime(1990, 1, 6, tzinfo=UTC))


@pytest.fixture(scope="module", params=[400, pytest.param(4_000, marks=pytest.mark.long)])
def beside_history(
    postgres: ThrowawayPostgres, template: str, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """So many finished runs of each of 25 DAGs, ten tasks a run; the long one has a million."""
    name = f"headway_test_{secrets.token_hex(4)}"
    engine = engines.connect(postgres.create_database(name, template), name="test")
    for number in range(DAGS):
        seed.store(engine, seed.wide(10, f"idle{number:02}"), paused=True)
    bulk_history.add(engine, runs=request.param)
    with engine.begin() as conn:
        conn.execute(EVENTS)
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(SPARK)
        conn.execute(text("ANALYZE event, task_attempt"))
    yield engine
    engine.dispose()
    postgres.drop_database(name)


def plans(engine: Engine, bundles: list[str] | None, *, descending: bool) -> list[QueryPlan]:
    """Read the second page of each list, with filters that match all, some and nothing."""
    with explained(engine) as found, engine.connect() as conn:
        first = Asked(bundles, descending=descending)
        for order in RunOrder:
            page = run_pages.page(conn, first, order=order)
            second = Asked(bundles, cursor=page.following, descending=descending)
            run_pages.page(conn, second, order=order)
            run_pages.page(conn, first, RunFilter(dag_id="idle03"), order)
        run_pages.page(conn, first, RunFilter(states=[RunState.RUNNING]))
        run_pages.total(conn, bundles)
        tasks = task_pages.page(conn, first)
        task_pages.page(conn, Asked(bundles, cursor=tasks.following, descending=descending))
        for wanted in (
            TaskFilter(dag_id="idle03"),
            TaskFilter(dag_id="idle03", run_id="none"),
            TaskFilter(states=[TaskState.RUNNING]),
        ):
            task_pages.page(conn, first, wanted)
        task_pages.total(conn, bundles)
        for by in DagOrder:
            dag_pages.page(conn, first, order=by)
        dag_pages.total(conn, bundles)
        dag_pages.tags(conn, first)
        dag_pages.stats(conn, bundles, ["idle03"])
        events = event_pages.page(conn, first)
        event_pages.page(conn, Asked(bundles, cursor=events.following, descending=descending))
        xcom_pages.page(conn, first)
        xcom_pages.page(conn, first, XComFilter(dag_id="idle03"))
        attempt_pages.page(conn, first, InstanceName("idle03", "none", "t0"))
        backfill_pages.page(conn, first)
        pool_pages.page(conn, first)
        process_pages.page(conn, first)
        version_pages.page(conn, first)
        spark_views.page(conn, first, None, None, by_run=True, ended=A_DAY)
        charts(conn, bundles)
        topics(conn, bundles)
    return found


def charts(conn: Connection, bundles: list[str] | None) -> None:
    """Read the charts of a DAG and of a run, and search for names."""
    page = run_pages.page(conn, Asked(bundles), RunFilter(dag_id="idle03"))
    ids, run_id = [row.id for row in page.rows], LATEST
    names = [row.task_id for row in grid_cells.rows(conn, "idle03", [])]
    grid_cells.packed(conn, ids, names, RETRIED)
    grid_cells.mapped(conn, ids)
    gantt = run_times.gantt(conn, Asked(bundles, limit=5), "idle03", run_id)
    assert gantt.rows or bundles == ["none"]
    second = Asked(bundles, limit=5, cursor=gantt.following)
    run_times.gantt(conn, second, "idle03", run_id)
    tasks = task_views.tasks(conn, "idle03", run_id)
    task_views.histories_of(conn, "idle03", run_id, tasks)
    run_times.gantt(conn, second, "idle03", run_id, {(it.task_id, it.map_index) for it in tasks})
    run_times.timed_tasks(conn, "idle03", run_id)
    run_times.state_counts(conn, "idle03", run_id)
    year = [datetime(1990, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(366)]
    calendar.runs_by_day(conn, "idle03", year)
    calendar.skipped(conn, "idle03", year[0], year[-1])
    name_search.search(conn, bundles, "idle", 10)
    backfill_views.dates_page(conn, Asked(bundles), 3)
    history.page(conn, Asked(bundles), "idle03")


def topics(conn: Connection, bundles: list[str] | None) -> None:
    """Read the topics that live streams watch."""
    shown = bundles != ["none"]
    assert home_entries.home(conn, bundles) is not None
    assert (dag_entries.dag(conn, bundles, "idle03") is not None) == shown
    dag_entries.backfill(conn, bundles, 3)
    assert (run_entries.run(conn, bundles, "idle03", LATEST) is not None) == shown
    task = run_entries.task(conn, bundles, "idle03", LATEST, "t0", -1)
    assert (task is not None) == shown


@pytest.mark.history
@pytest.mark.parametrize("bundles", [None, ["main"], ["none"]])
@pytest.mark.parametrize("descending", [False, True])
def test_no_table_that_grows_is_read_in_full(
    beside_history: Engine,
    bundles: list[str] | None,
    descending: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The last stretches are alike: one of them is enough.
    monkeypatch.setattr(paging, "STRETCHES", paging.STRETCHES[:3])
    found = plans(beside_history, bundles, descending=descending)

    assert len(found) > 40
    assert {(plan.statement, *plan.read_in_full & GROWING) for plan in found} == {
        (plan.statement,) for plan in found
    }


@pytest.mark.history
@pytest.mark.parametrize("descending", [False, True])
def test_a_usual_page_touches_a_few_blocks(beside_history: Engine, descending: bool) -> None:
    """The second page of each list that a filter narrows by nothing."""
    with explained(beside_history) as found, beside_history.connect() as conn:
        for order in (RunOrder.CREATED, RunOrder.RUN_AFTER, RunOrder.STARTED, RunOrder.ENDED):
            page = run_pages.page(conn, Asked(None, descending=descending), order=order)
            asked = Asked(None, cursor=page.following, descending=descending)
            run_pages.page(conn, asked, order=order)
        task_pages.page(conn, Asked(None, descending=descending))
        event_pages.page(conn, Asked(None, descending=descending))

    assert {plan.statement: plan.blocks for plan in found if plan.blocks > 2_500} == {}


@pytest.mark.history
@pytest.mark.parametrize(
    ("order", "wanted"),
    [
        (RunOrder.ENDED, RunFilter(states=[RunState.FAILED], ended=TimeRange(LATER, None))),
        (RunOrder.STARTED, RunFilter(started=TimeRange(LATER, None))),
        (RunOrder.RUN_AFTER, RunFilter(run_after=TimeRange(LATER, None))),
    ],
)
@pytest.mark.parametrize("descending", [False, True])
def test_runs_beyond_the_range_of_their_order_are_not_looked_at(
    beside_history: Engine, order: RunOrder, wanted: RunFilter, descending: bool
) -> None:
    with explained(beside_history) as found, beside_history.connect() as conn:
        page = run_pages.page(conn, Asked(None, descending=descending), wanted, order)

    assert page == ListPage([], None)
    [plan] = found
    assert plan.blocks < 50
