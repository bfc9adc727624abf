"""What would be queued now under other limits."""

from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from headway.actions.explain.simulate import Simulated, simulate_queue
from headway.db.core.server import now
from headway.decide.explain.ready import WaitingTask
from headway.decide.explain.simulate import Changes
from headway.decide.scheduling.admit import Limit
from headway.runtime.settings.configuration import read as read_settings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.auth.caller import AnyCaller
from headway_api.http.documented import errors
from headway_api.http.routers import native_router
from headway_api.native.access import require_every_bundle

router = native_router("queues")

Number: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]


class OtherLimits(BaseModel):
    """Limits that are others than those in force: those of pools, DAGs, queues and schedulers.

    `dags` has the max_active_tasks of DAGs, `queues` the slots of the workers of a queue, and
    `parallelism` is that of every scheduler.
    """

    model_config = ConfigDict(extra="forbid")

    pools: dict[str, Number] = {}
    dags: dict[str, Number] = {}
    queues: dict[str, Number] = {}
    parallelism: Number | None = None


class SimulatedTask(BaseModel):
    """A task instance that is queued under one set of limits alone."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    pool: str
    pool_slots: int
    queue: str


class SimulatedRefusal(BaseModel):
    """How many tasks a limit refuses; `owner` is empty for the limit of every scheduler."""

    limit: Limit
    owner: str
    now: int
    then: int


class SimulationView(BaseModel):
    """What would be queued now under other limits, compared with the limits in force.

    Of `waiting` tasks, `queued_now` would be queued under the limits in force and `queued_then`
    under the other ones; `gained` and `lost` are the differences.  `further` tasks were not looked
    at, because so many are before them; `paused` ones wait for their DAG to be unpaused.  If no
    scheduler is alive, one is assumed.
    """

    waiting: int
    further: int
    paused: int
    scheduler_assumed: bool
    queued_now: int
    queued_then: int
    gained: list[SimulatedTask]
    lost: list[SimulatedTask]
    refusals: list[SimulatedRefusal]


@router.post("/simulate", responses=errors(404))
def simulate(body: OtherLimits, caller: AnyCaller) -> SimulationView:
    """Show what would be queued now under other limits.  Nothing is changed.

    An account that is limited to some bundles may not simulate: the answer counts the tasks of
    all of them.
    """
    require_every_bundle(caller, "A simulation")
    changes = Changes(body.pools, body.dags, body.queues, body.parallelism)
    settings = read_settings(SchedulerSettings)
    return _view(caller.read(lambda conn: simulate_queue(conn, changes, settings, now(conn))))


def _view(found: Simulated) -> SimulationView:
    simulation = found.simulation
    return SimulationView(
        waiting=len(simulation.waiting),
        further=found.further,
        paused=found.paused,
        scheduler_assumed=found.assumed,
        queued_now=len(simulation.now.task_ids),
        queued_then=len(simulation.then.task_ids),
        gained=[_task(each) for each in simulation.gained()],
        lost=[_task(each) for each in simulation.lost()],
        refusals=[
            SimulatedRefusal(
                limit=budget.limit, owner=simulation.owner(budget), now=before, then=then
            )
            for budget, (before, then) in simulation.refusals().items()
        ],
    )


def _task(each: WaitingTask) -> SimulatedTask:
    return SimulatedTask(
        dag_id=each.task.dag_id,
        run_id=each.run_id,
        task_id=each.task.task_id,
        map_index=each.map_index,
        pool=each.task.pool,
        pool_slots=each.task.pool_slots,
        queue=each.task.queue,
    )
