"""The plans of every statement that schedulers and workers execute: never more than there is to do.

Beside 300,000 finished task instances, and in a new database of which the planner knows
nothing yet.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import Connection, Engine, inspect, text

from headway.db.core import engine as engines
from headway.db.core import processes
from headway.db.core.processes import Identity
from headway.db.execution import attempts, leases, prior_runs, spark_work, state_store, xcoms
from headway.db.execution.spark_work import SparkNews
from headway.db.parsing import pins
from headway.db.recovery import expired_state
from headway.db.scheduling import demand, queued_runs, schedulers
from headway.db.users import backfill_plans
from headway.db.users.backfill_plans import NewBackfill
from headway.domain.dag.catchup import Catchup, Overlap
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DEFAULT_POOL, DEFAULT_QUEUE, DagSpec, MapInput, TaskSpec
from headway.domain.dag.task_groups import GroupSpec
from headway.domain.spark_work import SparkProgress
from headway.domain.states import Outcome, TaskState
from headway.runtime.settings import configuration
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import bulk_history, seed
from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.database.query_plans import QueryPlan, explained, hot_statements
from headway_scheduler.passes.adopt import adopt
from headway_scheduler.passes.clean import clean
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.queue_tasks import queue_tasks
from headway_scheduler.passes.revoke import revoke
from headway_scheduler.passes.schedule_tasks import schedule_retries, schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.passes.time_out import time_out
from headway_scheduler.replica.replica import Replica

NOW = seed.START + seed.DAY
MUCH_LATER = seed.START + 100_000 * seed.DAY
GROWING = {
    *("dag_run", "task_instance", "task_attempt", "xcom", "event"),
    *("skipped_interval", "backfill_date", "task_state_store"),
}
"""The tables that history stays in."""

HOT = {
    *("demand.LOOK", "processes.CONFIRM", "processes.CONFIRM_REPEATABLE", "processes.BEAT_WORKER"),
    *("dags.LOCK_DUE", "dags.SCHEDULED", "dags.PLAN", "runs.CREATE", "schedulers.EXTEND_UPTIME"),
    *(
        "skipped_intervals.ADD",
        "skipped_intervals.COVER",
        "run_changes.LOCK_SCHEDULED",
        "prior_runs.LAST_SUCCESS",
    ),
    *(
        "queued_runs.LOCK_STARTING",
        "queued_runs.FREE_RUN_SLOTS",
        "queued_runs.QUEUED",
        "queued_runs.LOCK_QUEUED",
    ),
    "queued_runs.START",
    *("queued_runs.REQUEST_PARSE", "pins.WANTED", "pins.LOCK_DAGS", "pins.PIN"),
    *("run_snapshots.LOCK_WOKEN", "wakes.TAKE", "run_snapshots.BELOW", "run_snapshots.WHOLE"),
    *("wakes.TAKE_EACH", "run_snapshots.BELOW_BY_INDEX"),
    *("run_snapshots.PREVIOUS", "run_snapshots.LOCK_PREVIOUS", "run_snapshots.PAST"),
    *("xcoms.PUSH", "run_snapshots.LENGTHS"),
    *("state_store.SET", "state_store.GET", "state_store.DELETE", "expired_state.DELETE"),
    *("tasks.DECIDE", "tasks.EXPAND", "tasks.COUNT", "runs.SETTLE", "tasks.RETRY"),
    *("pools.LOCK", "pools.FREE", "queues.FREE", "ready_tasks.PLAIN", "ready_tasks.LIMITED"),
    *("dags.LOCK_PLACES", "free_slots.LIVE", "tasks.QUEUE"),
    *("attempts.ANY_QUEUED", "attempts.CLAIM", "attempts.FACTS", "leases.RENEW"),
    *(
        "attempts.LOCK_TASKS",
        "attempts.REPORT",
        "lost_attempts.EXPIRED",
        "lost_attempts.LOCK",
        "lost_attempts.JUDGE",
    ),
    *("spark_work.SAVE", "ownership.ABANDONED", "ownership.REVOKE", "run_changes.LOCK_OVERDUE"),
}
"""What is executed again and again, whatever else is."""


SINCE = text("UPDATE dag SET scheduled_since = :now")

EXPIRE = text("""
    UPDATE task_attempt SET claimed_until = now() - interval '1 day' WHERE phase = 'running'
""")


MORE = text("""
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, map_index, state, pool, pool_slots,
                               queue, priority, rank, priority_class, limited)
    SELECT dag_run_id, dag_id, task_id, number, 'scheduled', pool, pool_slots, queue, priority,
           rank + number, priority_class, limited
      FROM task_instance, generate_series(1, 20000) AS number
""")


def replica_on(engine: Engine) -> Replica:
    patient = {"max_tis_per_query": 10_000, "scheduler_health_check_threshold": 300}
    read = configuration.read(SchedulerSettings, **patient)
    return Replica(engine, seed.register(engine), read)


def work(engine: Engine) -> list[QueryPlan]:
    """Do what schedulers and workers do to the DAGs that are due; return how it was done."""
    replica, worker = replica_on(engine), seed.register(engine, "worker")
    with engine.begin() as conn:
        conn.execute(SINCE, {"now": NOW})
    with explained(engine) as plans:
        look(engine)
        create_runs(replica, NOW)
        create_runs(replica, NOW + seed.DAY)
        start_runs(replica, NOW + seed.DAY)
        create_runs(replica, NOW + 2 * seed.DAY)
        parse(engine)
        start_runs(replica, NOW + seed.DAY)
        schedule_tasks(replica, NOW)
        for _ in range(3):
            queue_tasks(replica, DEFAULT_POOL, NOW)
            let_end(engine, seed.claim(engine, worker, limit=10_000))
            schedule_tasks(replica, NOW)
            schedule_retries(replica, MUCH_LATER)
        queue_tasks(replica, DEFAULT_POOL, NOW)
        tell(engine, worker, seed.claim(engine, worker, limit=2))
        with engine.begin() as conn:
            conn.execute(EXPIRE)
        adopt(replica)
        revoke(replica, MUCH_LATER)
        time_out(replica, MUCH_LATER)
        schedule_tasks(replica, MUCH_LATER)
        clean(replica)
        keep_watch(engine)
        look(engine)
    return plans


def keep_watch(engine: Engine) -> None:
    """Say twice that there is a scheduler: the first time, and again."""
    with engine.begin() as conn:
        schedulers.extend_uptime(conn, 15)
        schedulers.extend_uptime(conn, 15)


def tell(engine: Engine, worker: Identity, claimed: Sequence[attempts.Claimed]) -> None:
    """Say that a worker is alive, and how far what its attempts do in Spark is."""
    with engine.begin() as conn:
        processes.beat_worker(conn, worker, None)
        spark_work.save(
            conn, [SparkNews(key=attempt.key, progress=SparkProgress()) for attempt in claimed]
        )


def look(engine: Engine) -> None:
    with engine.connect() as conn:
        demand.look(conn, NOW)
        attempts.any_queued(conn, [DEFAULT_QUEUE])


def parse(engine: Engine) -> None:
    """Pin the runs that wait for it."""
    with engine.begin() as conn:
        for wanted in pins.wanted(conn, "main"):
            pins.pin(conn, wanted.run_ids, "parser:1", "a test")


def let_end(engine: Engine, claimed: Sequence[attempts.Claimed]) -> None:
    """Renew the leases on attempts, and report: most well, one failed, one to be tried again."""
    keys = [attempt.key for attempt in claimed]
    with engine.begin() as conn:
        leases.renew(conn, keys, 30)
        prior_runs.last_success(conn, claimed[-1].dag_run_id)
        for attempt in claimed:
            if attempt.task_id == "list":
                xcoms.push(conn, attempt.key, "return_value", list(range(len(keys))))
                use_state_store(conn, attempt)
    seed.report(engine, keys[2:])
    seed.report(engine, keys[:1], Outcome.FAILED, Next(TaskState.FAILED))
    seed.report(engine, keys[1:2], Outcome.FAILED, Next(TaskState.UP_FOR_RETRY, timedelta(0)))


def use_state_store(conn: Connection, claimed: attempts.Claimed) -> None:
    """Set, read, remove and expire what a task keeps for its retries."""
    state_store.put(conn, claimed.key, "job", 1, timedelta(days=1))
    state_store.get(conn, claimed.dag_run_id, (claimed.task_id, -1), "job")
    state_store.delete(conn, claimed.key, "job")
    expired_state.delete(conn)


def named(dag_id: str, *tasks: TaskSpec) -> DagSpec:
    return replace(
        seed.dag(*tasks, dag_id=dag_id),
        max_active_runs=2,
        max_active_tasks=100_000,
        dagrun_timeout=3600.0,
    )


def fan(dag_id: str, width: int) -> DagSpec:
    """Return a DAG of that many chains of two tasks, and one that waits for all of them."""
    first = [seed.task(f"t{number}") for number in range(width)]
    second = [seed.task(f"u{number}", f"t{number}") for number in range(width)]
    return named(dag_id, *first, *second, seed.task("join", *(task.task_id for task in second)))


def grouped(dag_id: str, length: int) -> DagSpec:
    """Return a DAG with two tasks in a mapped group, and one that waits for all instances."""
    over = (MapInput(argument="n", length=length),)
    inside = [
        replace(task, mapped_over=over, mapped_group="g")
        for task in (seed.task("a"), seed.task("b", "a"))
    ]
    group = GroupSpec(group_id="g", tasks=("a", "b"))
    return replace(named(dag_id, *inside, seed.task("after", "b")), groups=(group,))


def specs(width: int) -> Iterator[DagSpec]:
    """Yield DAGs that take the scheduler everywhere."""
    yield fan("fan", width)
    yield replace(fan("limited", width), max_active_tasks_per_dagrun=100_000)
    over = (MapInput(argument="n", length=width),)
    again = (MapInput(argument="x", task_id="list"),)
    yield named(
        "mapped",
        *(replace(seed.task("each"), mapped_over=over), seed.task("sum", "each")),
        *(seed.task("list"), replace(seed.task("again", "list"), mapped_over=again)),
    )
    yield grouped("grouped", width)
    yield replace(fan("late", width), reparse_on_run=True)
    rolled = replace(named("rolled", seed.task("t")), start_date=seed.START - 30 * seed.DAY)
    window = timedelta(days=9).total_seconds()
    yield replace(rolled, catchup_mode=Catchup.ROLLUP, catchup_window=window)
    live = replace(named("cancelling", seed.task("t")), catchup=False)
    yield replace(live, overlap=Overlap.CANCEL_RUNNING)
    past = [replace(seed.task(f"t{number}"), depends_on_past=True) for number in range(width)]
    yield named("past", *past)
    for number in range(width // 4):
        chain = [seed.task("a"), seed.task("b", "a"), seed.task("c", "a", "b")]
        yield named(f"chain{number:03}", *chain)


@contextmanager
def database(server: ThrowawayPostgres, template: str) -> Iterator[Engine]:
    """A database in which nothing gathers statistics by itself."""
    name = f"headway_test_{secrets.token_hex(4)}"
    engine = engines.connect(server.create_database(name, template), name="test")
    with engine.begin() as conn:
        conn.execute(text("UPDATE pool SET slots = 100000"))
        for table in inspect(conn).get_table_names():
            conn.execute(text(f"ALTER TABLE {table} SET (autovacuum_enabled = off)"))
    yield engine
    engine.dispose()
    server.drop_database(name)


@pytest.fixture(scope="module", params=[1_000, pytest.param(3_000, marks=pytest.mark.long)])
def beside_history(
    postgres: ThrowawayPostgres, template: str, request: pytest.FixtureRequest
) -> Iterator[list[QueryPlan]]:
    """What is done beside so many finished runs of each of thirty DAGs, ten tasks a run."""
    with database(postgres, template) as engine:
        for number in range(25):
            seed.store(engine, replace(seed.wide(10, f"idle{number:02}")), paused=True)
        for spec in specs(3):
            seed.store(engine, spec)
        bulk_history.add(engine, runs=request.param)
        yield work(engine)


def test_each_statement_whose_plan_is_kept_is_looked_at_here() -> None:
    of_shares = {"backfill_shares.SHARES"}  # by a test of its own, which needs backfills
    of_short_tables = {  # rows are few, or found by a unique key
        *("account_views.ACCOUNTS", "account_views.TOKENS", "sessions.FIND", "tokens.FIND"),
        *("file_pages.ERRORS", "file_pages.WARNINGS", "file_pages.DAG_WARNINGS"),
        *("measures.ALIVE", "process_views.PROCESSES", "secret_pages.PAGE"),
    }
    of_pages = {  # in tests/integration/db/reads/test_page_plans.py
        *("backfill_pages.PAGE", "dag_pages.TAGS", "pool_pages.PAGE", "process_pages.PAGE"),
        *("run_pages.NUMBER", "run_pages.ROWS", "task_pages.ALL", "task_pages.ROWS"),
        *("grid_cells.CELLS", "grid_cells.MAPPED", "grid_cells.ROWS"),
    }
    of_topics = {  # in tests/integration/db/reads/test_page_plans.py
        *("home_entries.HOME", "dag_entries.DAG", "dag_entries.BACKFILL"),
        *("run_entries.RUN", "run_entries.TASK"),
    }
    elsewhere = of_shares | of_short_tables | of_pages | of_topics
    assert hot_statements() <= HOT | elsewhere


@pytest.mark.history
def test_what_is_executed_often_is_looked_at_here(beside_history: list[QueryPlan]) -> None:
    assert {plan.statement for plan in beside_history} >= HOT


@pytest.mark.history
def test_no_table_that_grows_is_read_in_full(beside_history: list[QueryPlan]) -> None:
    found = [(plan.statement, plan.kept, plan.read_in_full & GROWING) for plan in beside_history]

    assert [(name, kept, tables) for name, kept, tables in found if tables] == []


@pytest.mark.history
def test_no_more_is_touched_than_there_is_to_do(beside_history: list[QueryPlan]) -> None:
    """Some hundred task instances move; ten thousand runs of each DAG are in the way."""
    found = [(plan.statement, plan.kept, plan.rows, plan.blocks) for plan in beside_history]

    assert [row for row in found if row[2] > 5000 or row[3] > 5000] == []
    last = {(statement, kept): blocks for statement, kept, _, blocks in found}
    assert {name: blocks for name, blocks in last.items() if blocks > 1500} == {}


@pytest.mark.history
def test_to_find_nothing_to_do_takes_a_look_at_a_few_blocks(
    beside_history: list[QueryPlan],
) -> None:
    looks = [plan for plan in beside_history if plan.statement == "demand.LOOK"]

    assert [plan.kept for plan in looks[-2:]] == [False, True]
    assert all(plan.blocks < 50 for plan in looks[-2:])


def test_what_is_planned_while_tables_are_small_is_good_when_they_have_grown(
    postgres: ThrowawayPostgres, template: str
) -> None:
    """A kept plan that reads a small table in full does so for seconds after it has grown."""
    with database(postgres, template) as engine:
        for spec in specs(4):
            seed.store(engine, spec)
        found = [(plan.statement, plan.read_in_full & GROWING) for plan in work(engine)]

    assert {statement for statement, _ in found} >= HOT
    assert [(statement, tables) for statement, tables in found if tables] == []


def test_runs_that_the_statistics_know_nothing_of_are_started_one_by_one(
    postgres: ThrowawayPostgres, template: str
) -> None:
    """They were gathered when no run was queued: to read all that are looks like nothing then."""
    spec = replace(named("many", seed.task("t")), max_active_runs=10_000)
    with database(postgres, template) as engine:
        replica, worker = replica_on(engine), seed.register(engine, "worker")
        version = seed.store(engine, spec)
        seed.create_runs(engine, version, range(500))
        while start_runs(replica, MUCH_LATER):
            pass
        queue_tasks(replica, DEFAULT_POOL, NOW)
        seed.report(engine, [attempt.key for attempt in seed.claim(engine, worker, limit=10_000)])
        while schedule_tasks(replica, NOW).runs:
            pass
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.execute(text("ANALYZE"))
        seed.create_runs(engine, version, range(2000, 3000))
        with explained(engine) as plans:
            start_runs(replica, MUCH_LATER)

    starts = [plan for plan in plans if plan.statement == "queued_runs.START"]
    used = {node.get("Index Name") for plan in starts for node in plan.nodes()}
    assert "dag_run_pkey" in used
    assert "dag_run_queued" not in used


def test_of_many_runs_that_wait_in_a_run_queue_only_those_that_find_room_are_read(
    postgres: ThrowawayPostgres, template: str
) -> None:
    """In the DAG's own run queue and in a backfill's, be they to start or to be parsed for."""
    with database(postgres, template) as engine:
        replica = replica_on(engine)
        version = seed.store(engine, replace(named("late", seed.task("t")), reparse_on_run=True))
        with engine.begin() as conn:
            backfill = backfill_plans.create(conn, NewBackfill("late", seed.START, MUCH_LATER, 2))
        seed.create_runs(engine, version, range(2000))
        seed.create_runs(engine, version, range(2000, 4000), backfill)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.execute(text("ANALYZE"))
        with explained(engine) as plans:
            for _ in range(3):
                start_runs(replica, MUCH_LATER)
                parse(engine)

    assert {plan.statement for plan in plans} >= {
        "queued_runs.START",
        "queued_runs.REQUEST_PARSE",
        "pins.PIN",
    }
    assert {plan.statement: plan.rows for plan in plans if plan.rows > 200} == {}


def test_however_many_tasks_of_a_backfill_wait_few_are_read_to_know_what_it_may_take(
    postgres: ThrowawayPostgres, template: str
) -> None:
    """Nor to pass over them, when it has its share."""
    with database(postgres, template) as engine:
        replica = replace(replica_on(engine), settings=configuration.read(SchedulerSettings))
        seed.register(engine, "worker")
        version = seed.store(engine, named("past", seed.task("t")))
        for number in range(2):
            new = NewBackfill("past", seed.START, MUCH_LATER, 2, weight=1)
            with engine.begin() as conn:
                conn.execute(text("UPDATE pool SET slots = 100"))
                backfill = backfill_plans.create(conn, new)
            [run] = seed.create_runs(engine, version, [number], backfill)
            with engine.begin() as conn:
                queued_runs.start(conn, [run], NOW + number * seed.DAY, seed.AGING)
        with engine.begin() as conn:
            conn.execute(MORE)
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as conn:
            conn.execute(text("ANALYZE"))
        with explained(engine) as plans:
            queued = [len(queue_tasks(replica, DEFAULT_POOL, NOW).task_ids) for _ in range(3)]

    assert queued == [1, 1, 0]
    assert {plan.statement for plan in plans} >= {"ready_tasks.LIMITED", "backfill_shares.SHARES"}
    last = [plan.rows for plan in plans if plan.statement == "ready_tasks.LIMITED"][-1]
    assert last < 200, "those of backfills that have their share are not looked at"
    shares = [plan for plan in plans if plan.statement == "backfill_shares.SHARES"]
    assert [plan.read_in_full & GROWING for plan in shares] == [set()] * len(shares)
    assert all(plan.rows < 100 for plan in shares)


def done(server: ThrowawayPostgres, template: str, width: int) -> dict[tuple[str, bool], int]:
    """Return the most rows that each statement looks at where there is so much to do."""
    with database(server, template) as engine:
        for spec in specs(width):
            seed.store(engine, spec)
        plans = work(engine)
    return {
        name: max(plan.rows for plan in plans if (plan.statement, plan.kept) == name)
        for name in {(plan.statement, plan.kept) for plan in plans}
    }


def test_without_any_statistics_work_grows_no_faster_than_what_is_to_be_done(
    postgres: ThrowawayPostgres, template: str
) -> None:
    """Four times as much to do takes four times as long, and not sixteen times."""
    little = done(postgres, template, 40)
    much = done(postgres, template, 160)

    assert {name for name, _ in much} >= HOT
    assert {
        name: (little[name], rows) for name, rows in much.items() if rows > 6 * little[name] + 1000
    } == {}
