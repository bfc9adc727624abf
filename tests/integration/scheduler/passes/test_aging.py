"""Priority and aging: who comes first in the queue order, and that nobody waits for ever."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine, text

from headway.db.core.processes import Identity
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_POOL, DagSpec, MapInput
from headway.domain.dag.weights import WeightRule
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

NOW = seed.START + 100 * seed.DAY
AGING = 10.0
ABSOLUTE = WeightRule.ABSOLUTE
RANKS = text("""
    SELECT task_id || CASE WHEN map_index >= 0 THEN ' ' || map_index ELSE '' END AS name, rank
      FROM task_instance
""")


@pytest.fixture
def worker(engine: Engine) -> Identity:
    return seed.register(engine, "worker")


@pytest.fixture
def replica(engine: Engine, worker: Identity, new_replica: Callable[..., Replica]) -> Replica:
    """A scheduler by which a unit of priority is worth ten seconds of waiting for the one slot."""
    seed.make_pool(engine, DEFAULT_POOL, 1)
    return new_replica(priority_aging=AGING)


def of_priority(priority: int, dag_id: str, **limits: int) -> DagSpec:
    task = replace(seed.task("work"), priority_weight=priority, **limits)  # type: ignore[arg-type]
    return replace(seed.dag(task, dag_id=dag_id), max_active_runs=1000, max_active_tasks=1000)


def arrive(engine: Engine, replica: Replica, spec: DagSpec, seconds: float, day: int = 0) -> None:
    """Start a run of the DAG so many seconds after the beginning: its task is scheduled then."""
    seed.create_runs(engine, seed.store(engine, spec), [day])
    assert start_runs(replica, NOW + timedelta(seconds=seconds)) == 1


def run_next_task(engine: Engine, replica: Replica, worker: Identity, now: datetime = NOW) -> str:
    """Let one task be queued, run and end; return whose DAG's it was."""
    assert len(queue_tasks(replica, DEFAULT_POOL, now).task_ids) == 1
    [claimed] = seed.claim(engine, worker)
    seed.report(engine, [claimed.key])
    return claimed.dag_id


@pytest.mark.parametrize("limits", [{}, {"max_active_tis_per_dag": 100}], ids=["plain", "limited"])
@pytest.mark.parametrize(("seconds", "first"), [(39, "urgent"), (40, "patient"), (41, "patient")])
def test_waiting_makes_up_for_priority(
    engine: Engine,
    replica: Replica,
    worker: Identity,
    seconds: float,
    first: str,
    limits: dict[str, int],
) -> None:
    """Priority 5 is worth four times ten seconds more than priority 1."""
    arrive(engine, replica, of_priority(1, "patient"), 0)
    arrive(engine, replica, of_priority(5, "urgent", **limits), seconds)

    assert run_next_task(engine, replica, worker) == first


def test_of_two_that_come_at_once_the_more_urgent_is_first(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    for priority in (1, 9, 5):
        arrive(engine, replica, of_priority(priority, f"p{priority}"), 0)

    found = [run_next_task(engine, replica, worker) for _ in range(3)]

    assert found == ["p9", "p5", "p1"]


def test_of_two_of_one_priority_the_one_that_waits_for_longer_is_first(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    arrive(engine, replica, of_priority(2, "second"), 1)
    arrive(engine, replica, of_priority(2, "first"), 0)

    assert run_next_task(engine, replica, worker) == "first"


@pytest.mark.parametrize(("aging", "weight"), [(0.4, 3), (1e10, 3), (60.0, 2**31 - 1)])
def test_on_every_way_into_the_line_the_place_is_exact(
    engine: Engine, new_replica: Callable[..., Replica], aging: float, weight: int
) -> None:
    """Started with its run, below another one, expanded, and tried again."""
    replica, worker = new_replica(priority_aging=aging), seed.register(engine, "worker")
    a, b = seed.task("a"), seed.task("b", "a")
    many = replace(seed.task("c"), mapped_over=(MapInput(argument="n", length=2),))
    tasks = [replace(task, priority_weight=weight, weight_rule=ABSOLUTE) for task in (a, b, many)]
    seed.create_runs(engine, seed.store(engine, seed.dag(*tasks)), [0])

    start_runs(replica, NOW)
    schedule_tasks(replica, NOW)
    assert len(queue_tasks(replica, DEFAULT_POOL, NOW).task_ids) == 3
    claimed = seed.claim(engine, worker)
    again = Next(TaskState.UP_FOR_RETRY, timedelta(0))
    seed.report(engine, [attempt.key for attempt in claimed if attempt.task_id == "a"])
    retried = [attempt.key for attempt in claimed if attempt.map_index == 1]
    seed.report(engine, retried, Outcome.FAILED, again)
    schedule_tasks(replica, NOW)
    schedule_retries(replica, NOW + 100_000 * seed.DAY)

    with engine.connect() as conn:
        ranks = {row.name: row.rank for row in conn.execute(RANKS)}
    place, later = (at.timestamp() - weight * aging for at in (NOW, NOW + 100_000 * seed.DAY))
    assert ranks == {"a": place, "b": place, "c 0": place, "c 1": later}


def test_nothing_starves_behind_a_stream_of_urgent_tasks(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    """One comes each second, and one slot is free each second: there is never room for both.

    The bound is what the settings promise: (q - p) times priority_aging seconds, here 30.
    """
    arrive(engine, replica, of_priority(1, "patient"), 0)
    urgent = of_priority(4, "urgent")
    seed.create_runs(engine, seed.store(engine, urgent), range(60))

    order = []
    for second in range(60):
        now = NOW + timedelta(seconds=second)
        start_one_run(engine, replica, now)
        order.append(run_next_task(engine, replica, worker, now))
        if order[-1] == "patient":
            break

    assert order == ["urgent"] * 30 + ["patient"]


def start_one_run(engine: Engine, replica: Replica, now: datetime) -> None:
    """Let one more urgent task arrive."""
    settings = replica.settings.model_copy(update={"max_dagruns_per_loop_to_schedule": 1})
    assert start_runs(replace(replica, settings=settings), now) == 1


def test_workers_take_what_is_queued_in_the_same_order(
    engine: Engine, replica: Replica, worker: Identity
) -> None:
    for priority, seconds in ((1, 0), (5, 39), (9, 90)):
        arrive(engine, replica, of_priority(priority, f"p{priority}"), seconds)
    seed.make_pool(engine, DEFAULT_POOL, 3)
    queue_tasks(replica, DEFAULT_POOL, NOW)

    claimed = seed.claim(engine, worker)

    assert [attempt.dag_id for attempt in claimed] == ["p5", "p1", "p9"]
