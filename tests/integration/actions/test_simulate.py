"""What would be queued under other limits: the scheduler does just that when they are set."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Engine, text
from typer.testing import CliRunner

from headway.actions.dags.pause import set_paused
from headway.actions.explain.simulate import Simulated, simulate_queue
from headway.actions.installation.pools import set_pool
from headway.cli.main import app
from headway.db.core import processes
from headway.db.reads.explain import queue_order
from headway.db.scheduling import queues
from headway.decide.explain.simulate import Changes
from headway.decide.scheduling.admit import READ_AHEAD, Budget, Limit
from headway.domain.dag.spec import DEFAULT_POOL, DEFAULT_QUEUE, DagSpec
from headway.domain.errors import NotFoundError
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.replica.replica import Replica


@pytest.fixture
def replica(engine: Engine) -> Replica:
    seed.register(engine, "worker")
    return Replica(engine, seed.register(engine), read(SchedulerSettings))


def given(engine: Engine, changes: Changes, parallelism: int = 10_000) -> Simulated:
    settings = read(SchedulerSettings, parallelism=parallelism)
    with engine.begin() as conn:
        return simulate_queue(conn, changes, settings, seed.START)


def queue(replica: Replica, pool: str = DEFAULT_POOL) -> list[int]:
    return queue_tasks(replica, pool, seed.START).task_ids


def make_pool(engine: Engine, name: str, slots: int) -> None:
    with engine.begin() as conn:
        set_pool(conn, name, slots, "", "user:test")


def in_pool(spec: DagSpec, pool: str, slots: int = 1) -> DagSpec:
    tasks = tuple(replace(task, pool=pool, pool_slots=slots) for task in spec.tasks)
    return replace(spec, tasks=tasks)


def test_other_slots_of_a_pool(engine: Engine, replica: Replica) -> None:
    make_pool(engine, "small", 3)
    seed.scheduled(engine, in_pool(seed.wide(6), "small"))
    queue(replica, "small")

    found = given(engine, Changes(pools={"small": 5}))

    assert found.simulation.now.task_ids == []
    assert len(found.simulation.then.task_ids) == 2
    assert found.simulation.refusals() == {Budget(Limit.POOL, ("small",)): (3, 1)}

    make_pool(engine, "small", 5)
    assert queue(replica, "small") == found.simulation.then.task_ids


def test_a_pool_that_does_not_exist(engine: Engine, replica: Replica) -> None:
    """What was queued before the pool was deleted holds its slots still."""
    make_pool(engine, "small", 2)
    seed.scheduled(engine, in_pool(seed.wide(4), "small"))
    queue(replica, "small")
    with engine.begin() as conn:
        conn.execute(text("DELETE FROM pool WHERE name = 'small'"))

    found = given(engine, Changes(pools={"small": 3}))

    assert found.simulation.now.task_ids == []
    make_pool(engine, "small", 3)
    assert queue(replica, "small") == found.simulation.then.task_ids
    assert len(found.simulation.then.task_ids) == 1


def test_slots_that_deferred_tasks_hold(engine: Engine, replica: Replica) -> None:
    with engine.begin() as conn:
        set_pool(conn, "small", 1, "", "user:test", include_deferred=True)
    seed.running(engine, in_pool(seed.dag(dag_id="waits"), "small"))
    with engine.begin() as conn:
        conn.execute(
            text("UPDATE task_attempt SET phase = 'ended', ended_at = now(), outcome = 'success'")
        )
        conn.execute(text("UPDATE task_instance SET state = 'deferred'"))
    ids = seed.scheduled(engine, in_pool(seed.wide(2), "small"))

    found = given(engine, Changes(pools={"small": 2}))

    assert (found.simulation.now.task_ids, found.simulation.then.task_ids) == ([], ids[:1])


def test_other_max_active_tasks(engine: Engine, replica: Replica) -> None:
    spec = replace(seed.wide(5), max_active_tasks=2)
    seed.scheduled(engine, spec)
    queue(replica)

    found = given(engine, Changes(dags={"etl": 4}))

    assert found.simulation.now.task_ids == []
    seed.store(engine, replace(spec, max_active_tasks=4))
    assert queue(replica) == found.simulation.then.task_ids
    assert len(found.simulation.then.task_ids) == 2


def test_other_slots_of_workers(engine: Engine) -> None:
    with engine.begin() as conn:
        worker = processes.register(conn, "worker", ("host", 2), "test", [DEFAULT_QUEUE], 1)
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings))
    seed.scheduled(engine, seed.wide(2 * READ_AHEAD + 1))
    queue(replica)

    found = given(engine, Changes(queues={DEFAULT_QUEUE: 2}))

    assert found.simulation.now.task_ids == []
    with engine.begin() as conn:
        conn.execute(text("UPDATE process SET slots = 2 WHERE id = :id"), {"id": worker.id})
        budget = Budget(Limit.QUEUE, (DEFAULT_QUEUE,))
        in_use = queue_order.queue_slots_in_use(conn, [DEFAULT_QUEUE])[DEFAULT_QUEUE]
        assert queues.free(conn, 0, 0)[budget] + in_use == READ_AHEAD * 2
    assert queue(replica) == found.simulation.then.task_ids
    assert len(found.simulation.then.task_ids) == READ_AHEAD


def test_a_queue_that_no_worker_serves(engine: Engine, replica: Replica) -> None:
    spec = seed.dag(replace(seed.task("work"), queue="gpu"))
    [task] = seed.scheduled(engine, spec)

    found = given(engine, Changes(queues={"gpu": 1}))

    assert found.simulation.now.refused == {task: Budget(Limit.QUEUE, ("gpu",))}
    assert found.simulation.then.task_ids == [task]


def test_another_parallelism(engine: Engine) -> None:
    seed.register(engine, "worker")
    replica = Replica(engine, seed.register(engine), read(SchedulerSettings, parallelism=1))
    seed.scheduled(engine, seed.wide(4))
    queue(replica)

    found = given(engine, Changes(parallelism=3), parallelism=1)

    assert found.simulation.now.task_ids == []
    more = Replica(engine, replica.me, read(SchedulerSettings, parallelism=3))
    assert queue(more) == found.simulation.then.task_ids
    assert len(found.simulation.then.task_ids) == 2


def test_the_parallelism_that_a_scheduler_has_said(engine: Engine) -> None:
    """That counts, and not what the settings are where the command is given."""
    seed.register(engine, "worker")
    with engine.begin() as conn:
        processes.register(conn, "scheduler", ("host", 1), "test", slots=2)
    seed.scheduled(engine, seed.wide(4))

    assert len(given(engine, Changes()).simulation.now.task_ids) == 2


def test_the_pools_share_what_is_not_theirs(engine: Engine, replica: Replica) -> None:
    """One DAG with tasks in two pools: its places go to the first in the queue order, wherever."""
    make_pool(engine, "small", 9)
    spec = seed.wide(4)
    split = [
        replace(task, pool="small") if task.task_id in {"t0", "t1"} else task for task in spec.tasks
    ]
    ids = seed.scheduled(engine, replace(spec, tasks=tuple(split), max_active_tasks=1))

    found = given(engine, Changes(dags={"etl": 3}))

    assert found.simulation.now.task_ids == ids[:1]
    assert found.simulation.then.task_ids == ids[:3]


def test_what_is_left_out_is_counted(
    engine: Engine, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each DAG the first so many: a long line of one hides no other."""
    monkeypatch.setattr(queue_order, "PER_DAG", 3)
    seed.scheduled(engine, replace(seed.wide(5, "long"), max_active_tasks=1))
    [task] = seed.scheduled(engine, seed.dag())
    seed.scheduled(engine, seed.wide(2, "paused"))
    with engine.begin() as conn:
        set_paused(conn, "paused", "user:test", paused=True)

    found = given(engine, Changes())

    assert task in found.simulation.now.task_ids
    assert (len(found.simulation.waiting), found.further, found.paused) == (4, 2, 2)
    assert not found.assumed


def test_without_a_scheduler_one_is_assumed(engine: Engine) -> None:
    seed.register(engine, "worker")
    seed.scheduled(engine, seed.wide(3))

    found = given(engine, Changes(parallelism=1))

    assert found.assumed
    assert (len(found.simulation.now.task_ids), len(found.simulation.then.task_ids)) == (3, 1)


def test_a_dag_that_there_is_not(engine: Engine) -> None:
    with pytest.raises(NotFoundError, match="There is no DAG 'elt'"):
        given(engine, Changes(dags={"elt": 3}))


@pytest.fixture
def command(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    monkeypatch.setenv("HEADWAY_DATABASE_URL", database_url)

    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, list(arguments))
        return result.exit_code, result.output

    return run


def test_the_command(
    engine: Engine, replica: Replica, command: Callable[..., tuple[int, str]]
) -> None:
    make_pool(engine, "small", 1)
    seed.scheduled(engine, in_pool(seed.wide(3), "small"))

    status, output = command("simulate", "--pool", "small=2")

    assert status == 0
    summary, _, _, task, _, _, refusal = output.splitlines()
    assert summary == "Of 3 scheduled tasks, 1 would be queued now, 2 under these limits."
    assert task.split()[:2] == ["queued", "etl"]
    assert task.split()[3:] == ["t1", "-1", "small", "1", "default"]
    assert refusal.split() == ["pool", "small", "2", "1"]

    status, output = command("simulate", "--pool", "small=2", "--output", "json")

    assert status == 0
    [found] = json.loads(output)
    assert (found["waiting"], found["queued_now"], found["queued_then"]) == (3, 1, 2)
    assert [task["task_id"] for task in found["tasks"]] == ["t1"]
    assert found["refusals"] == [
        {"limit": "pool", "of": "small", "refused_now": 2, "refused_then": 1}
    ]


@pytest.mark.parametrize("wrong", ["small", "small=", "=3", "small=-1", "small=many"])
def test_a_limit_that_cannot_be_read(command: Callable[..., tuple[int, str]], wrong: str) -> None:
    status, output = command("simulate", "--pool", wrong)

    assert status == 2
    assert "is not like name=4" in output


def test_explaining_by_command(
    engine: Engine, replica: Replica, command: Callable[..., tuple[int, str]]
) -> None:
    make_pool(engine, "small", 1)
    spec = in_pool(seed.dag(seed.task("extract"), seed.task("load", "extract")), "small", 2)
    seed.start_run(engine, spec)
    run = "scheduled__2024-01-01T00:00:00+00:00"

    status, output = command("explain", "etl", run, "load")

    assert status == 0
    assert output.splitlines() == [
        f"load in {run} of etl is undecided",
        "It waits for extract (scheduled).",
        "What changes that: The end of it.",
        "",
        "dag id  run id                                task id  state",
        f"etl     {run}  extract  scheduled",
        "",
        f"extract in {run} of etl is scheduled",
        "It takes 2 slots of the pool small, which has 1 in all.",
        "What changes that: `headway pools set small 2`, or more slots than that.",
        "Queue position in the pool small: 1 of 1",
    ]

    status, output = command("explain", "etl", run, "load", "-o", "json")

    assert status == 0
    [found] = json.loads(output)
    assert (found["reason"], found["because"]["reason"]) == ("upstream", "pool_too_small")
    assert found["because"]["place"] == {"queue": "the pool small", "nth": 1, "of": 1}
    assert [row["task_id"] for row in found["held_by"]] == ["extract"]
