"""Pages joined are the whole list once, whatever their size, and show nothing of other bundles."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.reads.pages import (
    attempt_pages,
    backfill_pages,
    dag_pages,
    event_pages,
    file_pages,
    paging,
    pool_pages,
    process_pages,
    run_pages,
    secret_pages,
    task_pages,
    version_pages,
    xcom_pages,
)
from headway.db.reads.pages.attempt_pages import InstanceName
from headway.db.reads.pages.dag_pages import DagFilter, DagOrder
from headway.db.reads.pages.paging import Asked, CappedTotal, ListPage, TimeRange
from headway.db.reads.pages.run_pages import ANY_RUN, RunFilter, RunOrder
from headway.db.reads.pages.task_pages import TaskFilter
from headway.db.reads.pages.xcom_pages import XComName
from headway.db.reads.run_views import RunView
from headway.domain.states import RunState, TaskState
from headway.domain.variable import SecretKind
from headway.testing.data import bulk_history, forced, seed

Read = Callable[[Connection, Asked], ListPage[Any]]
RUNS = 7
NAMED = TaskFilter(name_like="%")
BY: dict[RunOrder, Callable[[RunView], Any]] = {
    RunOrder.RUN_AFTER: lambda run: run.run_after,
    RunOrder.STARTED: lambda run: run.started_at,
    RunOrder.ENDED: lambda run: run.ended_at,
}
OF_IDLE = text("""
    SELECT run_id FROM dag_run WHERE dag_id = 'idle01' AND run_type = 'scheduled' LIMIT 1
""")
ROWS = """
    SET LOCAL session_replication_role = replica;
    INSERT INTO dag_run (dag_id, run_id, run_type, schedule_date, interval_start, interval_end,
                         run_after, version_id)
    SELECT dag_id, 'manual__' || n, 'manual', at, at, at, at, version_id
      FROM dag
     CROSS JOIN generate_series(1, 3) AS n
     CROSS JOIN (SELECT timestamptz '1990-01-01 05:00Z' AS at) AS it;
    UPDATE dag_run SET state = 'running', started_at = run_after WHERE run_id = 'manual__2';
    UPDATE dag_run SET state = 'failed' WHERE id % 4 = 0 AND state = 'success';
    UPDATE dag SET bundle = 'other' WHERE dag_id = 'idle01';
    UPDATE dag SET tags = ARRAY['daily', dag_id];
    INSERT INTO event (actor, action, dag_id) SELECT 'user:ann', 'dag.pause', dag_id FROM dag;
    INSERT INTO event (actor, action) VALUES ('user:ann', 'pool.set');
    INSERT INTO import_error (bundle, relative_path, error)
    SELECT bundle, dag_id || '.py', 'no' FROM dag;
    INSERT INTO dag_file (bundle, relative_path, warning, parsed_at)
    SELECT bundle, dag_id || '.py', 'hm', now() FROM dag;
    INSERT INTO pool (name, slots) VALUES ('a', 1), ('b', 2);
    INSERT INTO secret_grant (kind, name, dag_id)
    SELECT 'variable', 'of_' || dag_id, dag_id FROM dag;
"""


def _of_attempts(conn: Connection, asked: Asked) -> ListPage[Any]:
    run_id = conn.scalar(OF_IDLE)
    task = conn.scalar(text("SELECT task_id FROM task_instance LIMIT 1"))
    return attempt_pages.page(conn, asked, InstanceName("idle01", str(run_id), str(task)))


def by(order: RunOrder) -> Read:
    return lambda conn, asked: run_pages.page(conn, asked, order=order)


def dags_by(order: DagOrder) -> Read:
    return lambda conn, asked: dag_pages.page(conn, asked, order=order)


READS: dict[str, Read] = {
    **{f"runs by {order}": by(order) for order in RunOrder},
    **{f"DAGs by {order}": dags_by(order) for order in DagOrder},
    "tasks": task_pages.page,
    "tasks of a DAG": lambda conn, asked: task_pages.page(conn, asked, TaskFilter(dag_id="idle01")),
    "attempts": _of_attempts,
    "tags": dag_pages.tags,
    "events": event_pages.page,
    "XComs": xcom_pages.page,
    "versions": version_pages.page,
    "import errors": file_pages.errors,
    "warnings": file_pages.warnings,
    "warnings of DAGs": file_pages.dag_warnings,
    "backfills": backfill_pages.page,
    "pools": pool_pages.page,
    "secrets": lambda conn, asked: secret_pages.page(conn, asked, SecretKind.VARIABLE),
    "processes": process_pages.page,
}


@pytest.fixture
def filled(engine: Engine) -> Engine:
    """Three DAGs with runs that have ended, run, and wait; one of them is of another bundle."""
    for number in range(3):
        seed.store(engine, seed.wide(3, f"idle{number:02}"))
    seed.register(engine, "worker")
    seed.register(engine)
    bulk_history.add(engine, runs=RUNS)
    with engine.begin() as conn:
        conn.execute(forced.UNGUARDED)
        for statement in ROWS.split(";\n"):
            if statement.strip():
                conn.execute(text(statement))
    return engine


def pages(
    conn: Connection,
    read: Read,
    limit: int,
    *,
    descending: bool = False,
    bundles: Sequence[str] | None = None,
) -> list[list[Any]]:
    found: list[list[Any]] = []
    cursor: str | None = None
    while True:
        page = read(conn, Asked(bundles, limit, cursor, descending))
        found.append(list(page.rows))
        if (cursor := page.following) is None:
            return found


@pytest.mark.parametrize("name", READS)
def test_pages_joined_are_the_whole_list_once(filled: Engine, name: str) -> None:
    read = READS[name]
    with filled.connect() as conn:
        [whole] = pages(conn, read, 1000)
        [backwards] = pages(conn, read, 1000, descending=True)
        assert whole
        assert backwards == whole[::-1]
        for limit in (1, 2, 5, len(whole)):
            for descending in (False, True):
                found = pages(conn, read, limit, descending=descending)
                rows = [row for page in found for row in page]
                assert rows == (backwards if descending else whole)
                assert {len(page) for page in found[:-1]} <= {limit}
                assert found[-1]


@pytest.mark.parametrize("name", READS)
def test_nothing_of_other_bundles_is_there(filled: Engine, name: str) -> None:
    with filled.connect() as conn:
        everything = pages(conn, READS[name], 1000)[0]
        of_none = pages(conn, READS[name], 1000, bundles=[])[0]
        of_main = pages(conn, READS[name], 1000, bundles=["main"])[0]

    assert of_none == []
    assert "idle01" not in repr(of_main)
    assert "idle01" in repr(everything) or name in {"attempts", "pools", "processes"}


def test_rows_that_are_inserted_between_pages_move_no_other_row(filled: Engine) -> None:
    read = by(RunOrder.RUN_AFTER)
    with filled.connect() as conn:
        [before] = pages(conn, read, 1000)
        found: list[int] = []
        cursor: str | None = None
        added = 10
        while True:
            page = read(conn, Asked(None, 3, cursor))
            found += [row.id for row in page.rows]
            if (cursor := page.following) is None:
                break
            if added < 14:
                conn.execute(
                    text("""
                        INSERT INTO dag_run (dag_id, run_id, run_type, schedule_date,
                                             interval_start, interval_end, run_after, version_id)
                        SELECT dag_id, run_id || CAST(:n AS text), 'manual', schedule_date,
                               interval_start, interval_end, run_after, version_id
                          FROM dag_run WHERE run_id LIKE 'manual%'
                    """),
                    {"n": f"_{added}"},
                )
            added += 4

    old = [row.id for row in before]
    assert [number for number in found if number in set(old)] == old
    assert len(found) == len(set(found))


def test_filters_find_what_they_say_and_totals_agree(filled: Engine) -> None:
    failed = RunFilter(states=[RunState.FAILED], dag_id="idle00")
    ran = TaskFilter(states=[TaskState.SUCCESS], name_like="%")
    with filled.connect() as conn:
        runs = run_pages.page(conn, Asked(None), failed).rows
        count = run_pages.total(conn, None, failed)
        tasks = task_pages.total(conn, ["other"], ran)
        tagged = dag_pages.page(conn, Asked(None), DagFilter(all_tags=["daily", "idle02"])).rows
        unfinished = run_pages.page(conn, Asked(None), RunFilter(states=[RunState.RUNNING])).rows

    assert runs
    assert {(row.run.dag_id, row.run.state) for row in runs} == {("idle00", RunState.FAILED)}
    assert count == CappedTotal(len(runs), exact=True)
    assert tasks == CappedTotal(3 * RUNS, exact=True)
    assert [row.dag.dag_id for row in tagged] == ["idle02"]
    assert {row.run.run_id for row in unfinished} == {"manual__2"}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("order", [RunOrder.RUN_AFTER, RunOrder.STARTED, RunOrder.ENDED])
def test_a_range_of_the_order_has_the_same_runs_as_in_any_other(
    filled: Engine, order: RunOrder, descending: bool
) -> None:
    with filled.connect() as conn:
        every = [row for page in pages(conn, run_pages.page, 100) for row in page]
        times = sorted(time for it in every if (time := BY[order](it.run)) is not None)
        within = TimeRange(times[len(times) // 4], times[len(times) // 2])
        wanted = replace(ANY_RUN, **cast(Any, {str(order): within}))
        read = partial(run_pages.page, wanted=wanted, order=order)
        found = [row for page in pages(conn, read, 3, descending=descending) for row in page]
        among = [
            row for page in pages(conn, partial(read, order=RunOrder.CREATED), 3) for row in page
        ]

    assert found
    assert sorted(row.id for row in found) == sorted(row.id for row in among)
    assert [BY[order](row.run) for row in found] == sorted(
        (BY[order](row.run) for row in found), reverse=descending
    )


@pytest.mark.parametrize("bundles", [None, ["main"]])
@pytest.mark.parametrize(
    ("read", "count"),
    [
        *(
            (partial(run_pages.page, order=order), run_pages.total)
            for order in (RunOrder.CREATED, RunOrder.LOGICAL_DATE, RunOrder.ENDED)
        ),
        (partial(task_pages.page, wanted=NAMED), partial(task_pages.total, wanted=NAMED)),
        (event_pages.page, event_pages.total),
        (xcom_pages.page, xcom_pages.total),
    ],
    ids=["runs", "runs by date", "runs by end", "tasks", "events", "xcoms"],
)
def test_a_first_page_tells_the_total_if_it_is_asked_to(
    filled: Engine,
    read: Callable[..., ListPage[Any]],
    count: Callable[..., CappedTotal],
    bundles: list[str] | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where the page is full after the first stretch, and the total is not."""
    monkeypatch.setattr(paging, "STRETCHES", (3, 2, *[20] * 100))
    with filled.connect() as conn:
        plain = read(conn, Asked(bundles, 1, descending=True))
        counted = read(conn, Asked(bundles, 1, descending=True, counted=True))
        second = read(conn, Asked(bundles, 1, plain.following, descending=True, counted=True))
        total = count(conn, bundles)
        whole = read(conn, Asked(bundles, 1_000))

    assert counted == replace(plain, total=total)
    assert (plain.total, second.total) == (None, None)
    assert total == CappedTotal(len(whole.rows), exact=True)
    assert total.count > 1


def test_the_total_of_every_task_instance_is_that_of_all_pages(filled: Engine) -> None:
    with filled.connect() as conn:
        seen = {
            bundle: len(task_pages.page(conn, Asked(bundle and [bundle], 1_000)).rows)
            for bundle in (None, "main", "other")
        }
        totals = {bundle: task_pages.total(conn, bundle and [bundle]) for bundle in seen}
        narrowed = task_pages.total(conn, None, TaskFilter(dag_id="idle00"))

    assert totals == {it: CappedTotal(rows, exact=True) for it, rows in seen.items()}
    assert seen[None] == seen["main"] + seen["other"]
    assert 0 < narrowed.count < seen[None]


def test_runs_by_state_are_counted_for_dags_of_the_bundles(filled: Engine) -> None:
    with filled.connect() as conn:
        found = dag_pages.stats(conn, ["main"], ["idle00", "idle01"])

    assert [(it.dag_id, sum(it.runs.values()), it.exact) for it in found] == [
        ("idle00", RUNS + 3, True)
    ]


def test_the_value_of_an_xcom_is_there_for_readers_of_its_bundle(filled: Engine) -> None:
    with filled.connect() as conn:
        [first, *_] = xcom_pages.page(conn, Asked(["other"])).rows
        name = XComName(first.dag_id, first.run_id, first.task_id, first.map_index, first.key)

        assert xcom_pages.value(conn, ["other"], name) == ([1, 2],)
        assert xcom_pages.value(conn, ["main"], name) is None
