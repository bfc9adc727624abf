"""What a test starts from: DAGs, runs and attempts, put into a real database."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import Engine, text

from headway.db.changes import run_changes
from headway.db.core import processes, stored_versions
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.processes import Identity
from headway.db.execution import attempts
from headway.db.execution.attempts import Claimed, Report
from headway.db.parsing import dag_registration, stored_code, versions
from headway.db.parsing.dag_registration import DagEntry
from headway.db.parsing.versions import NewVersion
from headway.db.scheduling import queued_runs, runs, tasks
from headway.db.users import pools
from headway.decide.changes.intervene import Intervention
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_QUEUE, DagSpec, MapInput, TaskSpec, TimetableSpec
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome, Role, RunType, TaskState
from headway.serialization import codec
from headway.serialization.manifest import manifest_hash
from headway.timetables.base import DagRunInfo

START: Final = datetime(2024, 1, 1, tzinfo=UTC)
"""When the DAGs of tests begin."""

DAY: Final = timedelta(days=1)
DAILY: Final = TimetableSpec(name="delta", arguments={"delta": 86400.0, "interval": None})
AGING: Final = 60.0
SCHEDULER: Final = 0
"""A scheduler that no process is: which owns the attempts that a test queues by itself."""

SUCCESS: Final = Next(TaskState.SUCCESS)


def task(task_id: str, *upstream: str) -> TaskSpec:
    """Return a task that does nothing; change it with `dataclasses.replace`."""
    return TaskSpec(task_id=task_id, operator="empty", upstream=upstream)


def dag(*tasks: TaskSpec, dag_id: str = "etl") -> DagSpec:
    """Return a daily DAG of these tasks, or of one, that catches up from `START` on."""
    return DagSpec(
        dag_id=dag_id,
        relative_path=f"{dag_id}.py",
        timetable=DAILY,
        timezone="UTC",
        tasks=tasks or (task("work"),),
        start_date=START,
        catchup=True,
    )


def wide(count: int, dag_id: str = "etl") -> DagSpec:
    """Return a DAG of that many independent tasks, which may all be active at once."""
    return DagSpec(
        dag_id=dag_id,
        relative_path=f"{dag_id}.py",
        timetable=DAILY,
        timezone="UTC",
        tasks=tuple(task(f"t{number}") for number in range(count)),
        start_date=START,
        max_active_tasks=max(count, 1),
    )


def info(day: int) -> DagRunInfo:
    """Return the run about the day that begins so many days after `START`."""
    return DagRunInfo.once_over(DataInterval(START + day * DAY, START + (day + 1) * DAY))


def register(engine: Engine, kind: str = "scheduler") -> Identity:
    """Enter a process."""
    slots = 1_000_000 if kind == "worker" else 0
    with engine.begin() as conn:
        return processes.register(conn, kind, ("host", 1), "test", [DEFAULT_QUEUE], slots)


def make_pool(engine: Engine, name: str, slots: int, *, include_deferred: bool = False) -> None:
    """Create a pool, or change it."""
    with engine.begin() as conn:
        pools.store(conn, name, slots, "", include_deferred=include_deferred)


def in_pool(spec: DagSpec, pool: str, slots: int = 1) -> DagSpec:
    """Return the DAG with all its tasks in that pool, each with so many slots of it."""
    tasks = tuple(replace(task, pool=pool, pool_slots=slots) for task in spec.tasks)
    return replace(spec, tasks=tasks)


def store(engine: Engine, spec: DagSpec, *, paused: bool = False, bundle: str = "main") -> int:
    """Put a DAG in force as its next version; return the version's id."""
    return store_all(engine, [spec], paused=paused, bundle=bundle)[spec.dag_id]


def store_all(
    engine: Engine, specs: Sequence[DagSpec], *, paused: bool = False, bundle: str = "main"
) -> dict[str, int]:
    """Put DAGs in force as their next versions; return the versions' ids."""
    code, new = manifest_hash({}), []
    for spec in specs:
        data = codec.encode(spec)
        new.append(NewVersion(spec, data, codec.fingerprint(data, code), code))
    with engine.begin() as conn:
        stored_code.add_code(conn, {code: {}}, {})
        entered = [DagEntry(bundle, spec.relative_path, spec) for spec in specs]
        dag_registration.enter(conn, entered, paused=paused)
        added = versions.add(conn, new)
        dag_registration.put_in_force(conn, added)
    return added


def create_runs(
    engine: Engine, version_id: int, days: Sequence[int], backfill_id: int | None = None
) -> list[int]:
    """Create queued runs of a version, one per day after `START`; return their ids."""
    with engine.begin() as conn:
        dag_id = codec.decode(stored_versions.load(conn, [version_id])[version_id]).dag_id
        kind = RunType.SCHEDULED if backfill_id is None else RunType.BACKFILL
        infos = [info(day) for day in days]
        new = runs.NewRuns(dag_id, kind, version_id, infos, {}, backfill_id)
        names = [run_id for _, run_id in runs.create(conn, [new])]
        found = text(
            "SELECT id FROM dag_run WHERE dag_id = :dag AND run_id = ANY (:names)"
            " ORDER BY schedule_date"
        )
        return list(conn.scalars(found, {"dag": dag_id, "names": names}))


def start_run(engine: Engine, spec: DagSpec, day: int = 0) -> int:
    """Store the DAG and start one run of it; return the run's id."""
    [run_id] = create_runs(engine, store(engine, spec), [day])
    with engine.begin() as conn:
        queued_runs.start(conn, [run_id], START, AGING)
    return run_id


def scheduled(engine: Engine, spec: DagSpec, day: int = 0) -> list[int]:
    """Start a run whose tasks are all scheduled; return the task instances, as the DAG has them."""
    run_id = start_run(engine, spec, day)
    with engine.begin() as conn:
        undecided = text("SELECT id FROM task_instance WHERE dag_run_id = :run AND state = 'none'")
        waiting = list(conn.scalars(undecided, {"run": run_id}))
        tasks.decide(conn, {TaskState.SCHEDULED: waiting}, START, AGING)
        found = text("SELECT id FROM task_instance WHERE dag_run_id = :run ORDER BY id")
        return list(conn.scalars(found, {"run": run_id}))


def queued(engine: Engine, spec: DagSpec, day: int = 0) -> list[int]:
    """Start a run whose tasks are all queued; return the task instances, as the DAG has them."""
    ids = scheduled(engine, spec, day)
    with engine.begin() as conn:
        tasks.queue(conn, ids, START, SCHEDULER)
    return ids


def claim(engine: Engine, me: Identity, limit: int = 100, seconds: float = 30) -> list[Claimed]:
    """Claim what is queued in the default queue."""
    with engine.begin() as conn:
        return attempts.claim(conn, me, [DEFAULT_QUEUE], limit, seconds)


def running(engine: Engine, spec: DagSpec, day: int = 0) -> list[AttemptKey]:
    """Start a run whose tasks are all claimed by a new worker; return the attempts."""
    queued(engine, spec, day)
    return [claimed.key for claimed in claim(engine, register(engine, "worker"))]


def run_mapped(engine: Engine, me: Identity, instances: int) -> list[Claimed]:
    """Start a run with one mapped task, m; return its instances' attempts, claimed by `me`."""
    over = MapInput(argument="x", length=instances)
    run_id = start_run(engine, dag(replace(task("m"), mapped_over=(over,))))
    with engine.begin() as conn:
        found = text("SELECT id FROM task_instance WHERE dag_run_id = :run")
        placeholder = conn.execute(found, {"run": run_id}).scalar_one()
        tasks.expand(conn, {placeholder: instances}, START, AGING)
        tasks.queue(conn, list(conn.scalars(found, {"run": run_id})), START, SCHEDULER)
    return sorted(claim(engine, me), key=lambda claimed: claimed.map_index)


def report(
    engine: Engine,
    keys: Sequence[AttemptKey],
    outcome: Outcome = Outcome.SUCCESS,
    following: Next = SUCCESS,
) -> set[AttemptKey]:
    """Report that these attempts ended so; return those that were accepted."""
    reports = [Report(key=key, outcome=outcome, following=following) for key in keys]
    with engine.begin() as conn:
        return set(attempts.report(conn, reports))


def finish(engine: Engine, outcome: Outcome = Outcome.SUCCESS, following: Next = SUCCESS) -> None:
    """Queue whatever is scheduled, have it claimed by a new worker, and report that it ended so."""
    with engine.begin() as conn:
        ready = text("SELECT id FROM task_instance WHERE state = 'scheduled'")
        tasks.queue(conn, list(conn.scalars(ready)), START, SCHEDULER)
    keys = [claimed.key for claimed in claim(engine, register(engine, "worker"))]
    assert keys, "nothing is scheduled"
    assert report(engine, keys, outcome, following) == set(keys)


def run_states(engine: Engine) -> Counter[str]:
    """Return how many runs are in each state."""
    with engine.connect() as conn:
        return Counter(conn.scalars(text("SELECT state FROM dag_run")))


def task_states(engine: Engine, run_id: int | None = None) -> dict[str, str]:
    """Return the state of each task of that run, or of every run."""
    states = text("""
        SELECT task_id, state FROM task_instance
         WHERE CAST(:run AS bigint) IS NULL OR dag_run_id = :run
         ORDER BY dag_run_id, id
    """)
    with engine.connect() as conn:
        return {row.task_id: row.state for row in conn.execute(states, {"run": run_id})}


def tell_to_stop(engine: Engine, keys: Sequence[AttemptKey], target: TaskState) -> None:
    """Have running attempts told to stop, so that their tasks become `target`, as a user may."""
    ids = [key.task_instance_id for key in keys]
    with engine.begin() as conn:
        run_changes.write(
            conn, Intervention(stops={target: ids}), Role.USER, ("user:test", "test", None)
        )
