"""Every record that a read returns has the types that it says."""

from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from sqlalchemy import Connection, Engine, text

from headway.db.execution import handles, spark_work
from headway.db.execution.spark_work import SparkNews
from headway.db.reads import (
    backfill_views,
    bundle_views,
    callback_views,
    dag_file_views,
    dag_views,
    deadline_views,
    event_views,
    history,
    notification_views,
    pool_views,
    process_views,
    run_views,
    secret_views,
    spark_views,
    task_views,
)
from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.domain.variable import SecretKind
from headway.testing.data import seed

RUN = f"scheduled__{seed.START.isoformat()}"
READS: dict[str, Callable[[Connection], Iterable[Any]]] = {
    "attempts": lambda conn: task_views.attempts(conn, "etl", RUN),
    "backfills": backfill_views.progress,
    "bundles": bundle_views.list_all,
    "callbacks": callback_views.callbacks,
    "dag list": lambda conn: [dag_file_views.dag_list(conn)],
    "dags": dag_views.dags,
    "dates of a backfill": lambda conn: backfill_views.dates(conn, 1),
    "deadlines": deadline_views.deadlines,
    "events": event_views.events,
    "histories": lambda conn: task_views.histories(conn, "etl", RUN),
    "import errors": dag_file_views.errors,
    "notifications": notification_views.notifications,
    "pools": pool_views.pools,
    "processes": process_views.processes,
    "progress": lambda conn: task_views.progress(conn, "etl", RUN),
    "runs": run_views.runs,
    "secrets": lambda conn: secret_views.secrets(conn, SecretKind.VARIABLE),
    "cost of Spark": lambda conn: spark_views.cost(conn, None, None, by_run=True),
    "tasks": lambda conn: task_views.tasks(conn, "etl", RUN),
    "versions": lambda conn: history.versions(conn, "etl"),
    "warnings": dag_file_views.warnings,
}
ROWS = """
    INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
    VALUES ('etl', now(), now(), 1, 1);
    INSERT INTO backfill_date (backfill_id, position, schedule_date, interval_start, interval_end,
                               decision, reason, run_id, dag_run_id)
    SELECT 1, 1, now(), now(), now(), 'rerun', 'failed', run_id, id FROM dag_run;
    INSERT INTO callback (dag_run_id, event, reason) SELECT id, 'success', 'success' FROM dag_run;
    INSERT INTO deadline (dag_run_id, name, check_at) SELECT id, 'soon', now() FROM dag_run;
    INSERT INTO notifier (hash, definition) VALUES ('x', '{"connection": "mail"}');
    INSERT INTO notification (dag_run_id, notifier, event, due_at)
    SELECT id, 'x', 'failure', now() FROM dag_run;
    INSERT INTO event (actor, action, details) VALUES ('user:ann', 'pool.set', '{"slots": 3}');
    INSERT INTO import_error (bundle, relative_path, error) VALUES ('main', 'x.py', 'no');
    INSERT INTO dag_file (bundle, relative_path, warning, parsed_at)
    VALUES ('main', 'etl.py', 'hm', now());
    INSERT INTO secret_grant (kind, name, dag_id) VALUES ('variable', 'region', 'etl');
"""


@pytest.fixture
def everything(engine: Engine) -> Engine:
    """A database with a row of each kind, and a worker that runs an attempt."""
    seed.store(engine, seed.dag())
    ended, _ = seed.running(engine, seed.dag(seed.task("work"), seed.task("next", "work")))
    with engine.begin() as conn:
        handles.save(conn, ended, {"kind": "connect"})
        news = SparkNews(key=ended, progress=SparkProgress(tasks=1), figures=SparkFigures(tasks=1))
        spark_work.save(conn, [news])
        for statement in ROWS.split(";\n"):
            if statement.strip():
                conn.execute(text(statement))
    seed.report(engine, [ended])
    return engine


def fits(value: object, kind: Any) -> bool:
    """Whether a value is of that type; of containers, only what they are is looked at."""
    if get_origin(kind) in {Union, UnionType}:
        return any(fits(value, each) for each in get_args(kind))
    if kind is type(None):
        return value is None
    expected = get_origin(kind) or kind
    if isinstance(value, bool) or expected is bool:
        return isinstance(value, bool) and expected is bool
    return isinstance(value, expected)


def wrong(record: Any) -> list[str]:
    """The fields of a record, and of records in it, that are not of their type."""
    hints = get_type_hints(type(record))
    found = []
    for field in fields(record):
        value = getattr(record, field.name)
        if not fits(value, hints[field.name]):
            found.append(f"{type(record).__name__}.{field.name}: {value!r}")
        inner = value if isinstance(value, list) else [value]
        found += [each for record in inner if is_dataclass(record) for each in wrong(record)]
    return found


@pytest.mark.parametrize("read", READS)
def test_records_have_the_types_that_they_say(everything: Engine, read: str) -> None:
    with everything.connect() as conn:
        records = list(READS[read](conn))

    assert records
    assert [problem for record in records for problem in wrong(record)] == []


def test_a_wrong_type_would_be_found(everything: Engine) -> None:
    with everything.connect() as conn:
        [run] = run_views.runs(conn)
    object.__setattr__(run, "state", "running")

    assert wrong(run) == ["RunView.state: 'running'"]
