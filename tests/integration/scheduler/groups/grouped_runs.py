"""Runs with a mapped group, as tests start them and let their tasks end."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Engine, text

from headway.db.execution import attempts, xcoms
from headway.db.execution.attempts import Claimed, Report
from headway.db.scheduling import tasks
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec, MapInput, TaskSpec
from headway.domain.dag.task_groups import GroupSpec
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.replica.replica import Replica

RUN = f"scheduled__{seed.START.isoformat()}"
OVER = (MapInput(argument="x", task_id="list"),)
FAILED, SKIPPED = Next(TaskState.FAILED), Next(TaskState.SKIPPED)


def inside(task_id: str, *upstream: str, **fields: Any) -> TaskSpec:
    return replace(seed.task(task_id, *upstream), mapped_over=OVER, mapped_group="g", **fields)


def dag(*found: TaskSpec) -> DagSpec:
    names = tuple(task.task_id for task in found if task.mapped_group)
    return replace(seed.dag(*found), groups=(GroupSpec(group_id="g", tasks=names),))


SPEC = dag(
    seed.task("list"),
    inside("a", "list"),
    inside("b", "a"),
    inside("c", "b"),
    inside("d", "b", trigger_rule=TriggerRule.ALL_DONE),
    seed.task("last", "c", "d"),
    replace(seed.task("report", "c"), trigger_rule=TriggerRule.ALL_DONE),
)


def settle(replica: Replica) -> None:
    while schedule_tasks(replica, seed.START).runs:
        pass


def states(engine: Engine, *names: str) -> dict[str, str]:
    rows = text("SELECT task_id, map_index, state FROM task_instance ORDER BY task_id, map_index")
    with engine.connect() as conn:
        found = conn.execute(rows).all()
    return {
        row.task_id if row.map_index < 0 else f"{row.task_id}{row.map_index}": row.state
        for row in found
        if not names or row.task_id in names
    }


def claim(engine: Engine) -> dict[str, Claimed]:
    """Have whatever is scheduled claimed by a worker; return the attempts by instance."""
    ready = text("SELECT id FROM task_instance WHERE state = 'scheduled' ORDER BY id")
    with engine.begin() as conn:
        tasks.queue(conn, list(conn.scalars(ready)), seed.START, seed.SCHEDULER)
    claimed = seed.claim(engine, seed.register(engine, "worker"))
    return {it.task_id if it.map_index < 0 else f"{it.task_id}{it.map_index}": it for it in claimed}


def end(engine: Engine, claimed: Claimed, following: Next = seed.SUCCESS, *skips: str) -> None:
    outcome = Outcome(str(following.state))
    report = Report(key=claimed.key, outcome=outcome, following=following, skips=skips)
    with engine.begin() as conn:
        assert attempts.report(conn, [report])


def start(engine: Engine, replica: Replica, items: Sequence[object], spec: DagSpec = SPEC) -> int:
    """Start a run, and let the task that the group is expanded over leave these items."""
    run = seed.start_run(engine, spec)
    settle(replica)
    first = claim(engine)["list"]
    with engine.begin() as conn:
        assert xcoms.push(conn, first.key, "return_value", list(items))  # type: ignore[arg-type]
    end(engine, first)
    settle(replica)
    return run


def go_on(engine: Engine, replica: Replica) -> None:
    """Let everything succeed that is left."""
    for _ in range(10):
        if seed.run_states(engine).keys() != {"running"}:
            return
        for claimed in claim(engine).values():
            end(engine, claimed)
        settle(replica)
