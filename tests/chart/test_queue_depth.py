"""The query that KEDA scales a worker group by, as the chart renders it and its role asks it."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from tests.chart.rendering import of_kind, rendered

from headway.db.access.logins import Login
from headway.domain.dag.spec import DEFAULT_POOL, DagSpec
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.logins import bare_connection
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.replica.replica import Replica

Depth = Callable[[], int]


@pytest.fixture
def depth(database_url: str) -> Iterator[Depth]:
    [scaled] = of_kind(rendered("everything"), "ScaledObject")
    query = text(scaled["spec"]["triggers"][0]["metadata"]["query"].replace(":", r"\:"))
    with bare_connection(database_url, Login.READONLY) as conn:

        def ask() -> int:
            with conn.begin():
                found = conn.scalar(query)
            return int(found)

        yield ask


def in_queue(spec: DagSpec, queue: str) -> DagSpec:
    return replace(spec, tasks=tuple(replace(task, queue=queue) for task in spec.tasks))


def test_nothing_is_nothing(depth: Depth) -> None:
    assert depth() == 0


def test_what_is_queued_and_what_runs_counts(engine: Engine, depth: Depth) -> None:
    seed.queued(engine, seed.wide(3))
    assert depth() == 3

    seed.claim(engine, seed.register(engine, "worker"), limit=2)

    assert depth() == 3


def test_what_waits_counts_also_where_no_worker_is(engine: Engine, depth: Depth) -> None:
    seed.scheduled(engine, seed.wide(5))

    assert depth() == 5


def test_other_queues_do_not_count(engine: Engine, depth: Depth) -> None:
    seed.queued(engine, in_queue(seed.wide(2), "other"))
    seed.scheduled(engine, in_queue(seed.wide(3, "more"), "other"))

    assert depth() == 0


def test_what_a_pool_has_no_slots_for_does_not_count(engine: Engine, depth: Depth) -> None:
    seed.make_pool(engine, "small", 4)
    seed.queued(engine, seed.in_pool(in_queue(seed.wide(1, "large"), "other"), "small", 3))
    seed.scheduled(engine, seed.in_pool(seed.wide(5), "small"))
    assert depth() == 1

    seed.make_pool(engine, "small", 2)

    assert depth() == 0


def test_what_a_dag_has_no_place_for_does_not_count(engine: Engine, depth: Depth) -> None:
    seed.scheduled(engine, replace(seed.wide(5), max_active_tasks=2))
    seed.scheduled(engine, seed.wide(3, "other"))

    assert depth() == 5


def test_what_is_paused_does_not_count(engine: Engine, depth: Depth) -> None:
    seed.scheduled(engine, seed.wide(5))
    with engine.begin() as conn:
        conn.execute(text("UPDATE dag SET paused = true"))

    assert depth() == 0


def test_it_is_what_schedulers_queue_once_there_are_workers(engine: Engine, depth: Depth) -> None:
    seed.make_pool(engine, DEFAULT_POOL, 6)
    limited = replace(seed.task("one"), max_active_tis_per_dag=9)
    seed.scheduled(engine, replace(seed.dag(limited, *seed.wide(5).tasks), max_active_tasks=4))
    seed.scheduled(engine, seed.wide(7, "other"))
    expected = depth()
    seed.register(engine, "worker")
    given = configuration.read(SchedulerSettings)
    replica = Replica(engine, seed.register(engine), given)

    queued = 0
    while batch := queue_tasks(replica, DEFAULT_POOL, seed.START).task_ids:
        queued += len(batch)

    assert queued == expected == depth() == 6
