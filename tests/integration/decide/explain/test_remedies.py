"""Every command that `headway explain` prints is run in a shell, and does what it says."""

import ast
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

import headway
from headway.actions.dags.pause import set_paused
from headway.actions.explain.explain import ExplainRequest, explain
from headway.db.changes import run_end
from headway.db.execution import attempts
from headway.db.execution.attempts import Report
from headway.db.scheduling import runs, tasks
from headway.db.users import backfill_plans
from headway.db.users.backfill_plans import NewBackfill
from headway.decide.explain.explanation import Explanation, Reason
from headway.domain.arguments import RETURN_VALUE
from headway.domain.dag.catchup import Catchup
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import DagSpec, MapInput
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.states import Outcome, RunState, RunType, TaskState
from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.data import seed
from headway.testing.database.interleaving import just_before
from headway.testing.services.forks import run_command
from headway_scheduler.passes.create_runs import create_runs
from headway_scheduler.passes.schedule_tasks import schedule_tasks
from headway_scheduler.passes.start_runs import start_runs
from headway_scheduler.replica.replica import Replica

RUN = f"scheduled__{seed.START.isoformat()}"
NOW = seed.START + 30 * seed.DAY
COMMAND = re.compile(r"`((?:[A-Z_]+=\S+ )?headway .+?)`")
SERVICES = re.compile(r"^(\S+=\S+ )?headway (scheduler|worker|parser)$")
RETRY = Next(TaskState.UP_FOR_RETRY, timedelta(hours=1))
FAILED = Next(TaskState.FAILED)

Ask = tuple[str, str]
"""The run and the task that are asked about."""


def run_id(day: int) -> str:
    return f"scheduled__{(seed.START + day * seed.DAY).isoformat()}"


def go_on(replica: Replica) -> None:
    while schedule_tasks(replica, NOW).runs:
        pass


def start(replica: Replica, spec: DagSpec, days: int = 1) -> None:
    seed.create_runs(replica.engine, seed.store(replica.engine, spec), range(days))
    start_runs(replica, NOW)
    go_on(replica)


def skipping(replica: Replica, below: str) -> None:
    """Have the one task that is ready succeed, and choose not to run what is below."""
    with replica.engine.begin() as conn:
        ready = text("SELECT id FROM task_instance WHERE state = 'scheduled'")
        tasks.queue(conn, list(conn.scalars(ready)), seed.START, seed.SCHEDULER)
    [claimed] = seed.claim(replica.engine, seed.register(replica.engine, "worker"))
    report = Report(key=claimed.key, outcome=Outcome.SUCCESS, following=seed.SUCCESS, skips=[below])
    with replica.engine.begin() as conn:
        attempts.report(conn, [report])
    go_on(replica)


def paused(replica: Replica) -> Ask:
    start(replica, seed.dag())
    with replica.engine.begin() as conn:
        set_paused(conn, "etl", "user:test", paused=True)
    return RUN, "work"


def paused_before_it_starts(replica: Replica) -> Ask:
    seed.create_runs(replica.engine, seed.store(replica.engine, seed.dag(), paused=True), [0])
    return RUN, "work"


def without_pool(replica: Replica) -> Ask:
    start(replica, seed.in_pool(seed.dag(), "my pool"))
    return RUN, "work"


def too_small_a_pool(replica: Replica) -> Ask:
    seed.make_pool(replica.engine, "small", 1)
    start(replica, seed.in_pool(seed.dag(), "small", 2))
    return RUN, "work"


def full_pool(replica: Replica) -> Ask:
    seed.make_pool(replica.engine, "full", 1)
    seed.queued(replica.engine, seed.in_pool(replace(seed.dag(), dag_id="other"), "full"))
    start(replica, seed.in_pool(seed.dag(), "full"))
    return RUN, "work"


def without_worker(replica: Replica) -> Ask:
    start(replica, seed.dag())
    return RUN, "work"


def queued_without_worker(replica: Replica) -> Ask:
    seed.queued(replica.engine, seed.dag())
    return RUN, "work"


def without_scheduler(replica: Replica) -> Ask:
    start(replica, seed.dag())
    with replica.engine.begin() as conn:
        conn.execute(text("UPDATE process SET ended_at = now()"))
    return RUN, "work"


def without_parser(replica: Replica) -> Ask:
    spec = replace(seed.dag(), reparse_on_run=True)
    seed.create_runs(replica.engine, seed.store(replica.engine, spec), [0])
    return RUN, "work"


def running(replica: Replica) -> Ask:
    seed.running(replica.engine, seed.dag())
    return RUN, "work"


def up_for_retry(replica: Replica) -> Ask:
    keys = seed.running(replica.engine, seed.dag())
    seed.report(replica.engine, keys, Outcome.FAILED, RETRY)
    return RUN, "work"


def failed(replica: Replica) -> Ask:
    keys = seed.running(replica.engine, seed.dag())
    seed.report(replica.engine, keys, Outcome.FAILED, FAILED)
    return RUN, "work"


def not_chosen(replica: Replica) -> Ask:
    start(replica, seed.dag(seed.task("branch"), seed.task("left", "branch")))
    skipping(replica, "left")
    return RUN, "left"


def below_what_is_not_chosen(replica: Replica) -> Ask:
    """To clear `left`, which followed the branch, would change nothing."""
    chain = seed.task("branch"), seed.task("left", "branch"), seed.task("last", "left")
    start(replica, seed.dag(*chain))
    skipping(replica, "left")
    return RUN, "last"


def below_a_failure(replica: Replica) -> Ask:
    chain = seed.task("a"), seed.task("b", "a"), seed.task("c", "b")
    start(replica, seed.dag(*chain))
    seed.finish(replica.engine, Outcome.FAILED, FAILED)
    go_on(replica)
    return RUN, "c"


def rule_that_cannot_hold(replica: Replica) -> Ask:
    last = replace(seed.task("last", "a"), trigger_rule=TriggerRule.ALL_FAILED)
    start(replica, seed.dag(seed.task("a"), last))
    seed.finish(replica.engine)
    go_on(replica)
    return RUN, "last"


def expanded_over_nothing(replica: Replica) -> Ask:
    mapped = replace(
        seed.task("each", "plan"),
        mapped_over=(MapInput(argument="n", task_id="plan", key=RETURN_VALUE),),
    )
    start(replica, seed.dag(seed.task("plan"), mapped))
    seed.finish(replica.engine)
    go_on(replica)
    return RUN, "each"


def run_to_end(replica: Replica) -> Ask:
    start(replica, seed.dag(seed.task("a"), seed.task("b", "a")))
    with replica.engine.begin() as conn:
        [number] = conn.scalars(text("SELECT id FROM dag_run"))
        run_end.end_as(conn, [number], RunState.FAILED)
    return RUN, "b"


def held_by_its_past(replica: Replica) -> Ask:
    start(replica, seed.dag(replace(seed.task("work"), depends_on_past=True)), days=2)
    seed.finish(replica.engine, Outcome.FAILED, FAILED)
    go_on(replica)
    start_runs(replica, NOW)
    go_on(replica)
    return run_id(1), "work"


def before_its_date(replica: Replica) -> Ask:
    seed.create_runs(replica.engine, seed.store(replica.engine, seed.dag()), [100_000])
    return run_id(100_000), "work"


def not_due(replica: Replica) -> Ask:
    seed.store(replica.engine, replace(seed.dag(), start_date=seed.START + 100_000 * seed.DAY))
    create_runs(replica, NOW)
    return run_id(100_000), "work"


def of_a_paused_backfill(replica: Replica) -> Ask:
    version = seed.store(replica.engine, seed.dag())
    with replica.engine.begin() as conn:
        backfill = backfill_plans.create(
            conn, NewBackfill("etl", seed.START, seed.START + seed.DAY, 1)
        )
        conn.execute(text("UPDATE backfill SET paused = true, planned = 1"))
    seed.create_runs(replica.engine, version, [0], backfill)
    return f"backfill__{seed.START.isoformat()}", "work"


def skipped(replica: Replica, catchup: Catchup) -> None:
    """Miss four days."""
    flag, mode = catchup is not Catchup.NONE, catchup if catchup is Catchup.ROLLUP else None
    store_since(replica.engine, replace(seed.dag(), catchup=flag, catchup_mode=mode))
    while create_runs(replica, seed.START + 4 * seed.DAY):
        pass


def store_since(engine: Engine, spec: DagSpec) -> None:
    seed.store(engine, spec)
    since = text("UPDATE dag SET scheduled_since = :since")
    with engine.begin() as conn:
        conn.execute(since, {"since": seed.START + 4 * seed.DAY})


def left_out(replica: Replica) -> Ask:
    skipped(replica, Catchup.NONE)
    return run_id(2), "work"


def rolled_up(replica: Replica) -> Ask:
    skipped(replica, Catchup.ROLLUP)
    return run_id(2), "work"


def in_conflict(replica: Replica) -> Ask:
    def day_2() -> None:
        with replica.engine.begin() as conn:
            version = conn.scalar(text("SELECT version_id FROM dag"))
            day = backfill_plans.create(conn, NewBackfill("etl", seed.START, seed.START, 1))
            new = runs.NewRuns(
                "etl", RunType.BACKFILL, version, [seed.info(2)], {}, day, partitions=True
            )
            runs.create(conn, [new])

    with just_before(replica.engine, runs.CREATE, day_2):
        skipped(replica, Catchup.ROLLUP)
    return run_id(1), "work"


def removed(replica: Replica) -> Ask:
    """The run was given a version that lacks the task."""
    start(replica, seed.dag(seed.task("old"), seed.task("work")))
    seed.store(replica.engine, seed.dag())
    shell("headway runs clear etl " + RUN + " --version latest --yes", replica.engine)
    return RUN, "old"


def unreadable(replica: Replica) -> Ask:
    start(replica, seed.dag(seed.task("extract"), seed.task("load", "extract")))
    with replica.engine.begin() as conn:
        conn.execute(text("UPDATE dag_version SET serialized = 'nonsense'"))
    return RUN, "load"


def gone(replica: Replica) -> Ask:
    seed.create_runs(replica.engine, seed.store(replica.engine, seed.dag()), [0])
    with replica.engine.begin() as conn:
        conn.execute(text("UPDATE dag SET active = false"))
    return RUN, "work"


SCENARIOS: dict[Callable[[Replica], Ask], Reason] = {
    paused: Reason.DAG_PAUSED,
    paused_before_it_starts: Reason.DAG_PAUSED,
    without_pool: Reason.NO_POOL,
    too_small_a_pool: Reason.POOL_TOO_SMALL,
    full_pool: Reason.POOL,
    without_worker: Reason.NO_WORKER,
    queued_without_worker: Reason.NO_WORKER,
    without_scheduler: Reason.NO_SCHEDULER,
    without_parser: Reason.AWAITS_PARSE,
    running: Reason.RUNNING,
    up_for_retry: Reason.RETRY,
    failed: Reason.ENDED,
    not_chosen: Reason.NOT_CHOSEN,
    below_what_is_not_chosen: Reason.TRIGGER_RULE,
    below_a_failure: Reason.TRIGGER_RULE,
    rule_that_cannot_hold: Reason.TRIGGER_RULE,
    expanded_over_nothing: Reason.NOT_EXPANDED,
    run_to_end: Reason.RUN_ENDS,
    held_by_its_past: Reason.DEPENDS_ON_PAST,
    before_its_date: Reason.RUN_AFTER,
    not_due: Reason.RUN_NOT_CREATED,
    of_a_paused_backfill: Reason.BACKFILL_PAUSED,
    left_out: Reason.INTERVAL_SKIPPED,
    rolled_up: Reason.INTERVAL_SKIPPED,
    in_conflict: Reason.INTERVAL_SKIPPED,
    removed: Reason.ENDED,
    unreadable: Reason.VERSION_UNREADABLE,
    gone: Reason.DAG_GONE,
}


def told(engine: Engine, asked: Ask) -> Explanation:
    with engine.begin() as conn:
        return explain(conn, ExplainRequest("etl", *asked), read(SchedulerSettings), NOW)


def shell(command: str, engine: Engine) -> str:
    """Run a printed command as a shell reads it that a user copies it to; return its output."""
    read = subprocess.run(
        ["bash", "-euc", f"headway() {{ printf '%s\\0' \"$@\"; }}\n{command}"],
        capture_output=True,
        text=True,
        check=True,
    )
    database = engine.url.render_as_string(hide_password=False)
    environment = {**os.environ, "HEADWAY_DATABASE_URL": database}
    done = run_command(read.stdout.split("\0")[:-1], environment)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def starts(command: str, engine: Engine, home: Path) -> None:
    """Run the command of a service until it has entered itself, and stop it."""
    kind = command.rsplit(maxsplit=1)[-1]
    database = engine.url.render_as_string(hide_password=False)
    environment = {**os.environ, "HEADWAY_DATABASE_URL": database, "HEADWAY_HOME": str(home)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    (home / "dags").mkdir()
    environment["HEADWAY_PARSER_DAGS"] = str(home / "dags")
    with subprocess.Popen(
        ["bash", "-c", f"exec env {command}"], env=environment, stdout=subprocess.DEVNULL
    ) as service:
        alive = text("SELECT count(*) FROM process WHERE pid = :pid AND kind = :kind")
        try:
            while service.poll() is None:
                with engine.connect() as conn:
                    if conn.scalar(alive, {"pid": service.pid, "kind": kind}):
                        return
                signal.sigtimedwait([], 0.2)
            pytest.fail(f"{command} has ended with {service.returncode}")
        finally:
            service.terminate()


@pytest.mark.regression
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda it: it.__name__)
def test_what_explain_advises_works(
    scenario: Callable[[Replica], Ask], replica: Replica, tmp_path: Path
) -> None:
    asked = scenario(replica)
    found = told(replica.engine, asked)
    assert found.reason is SCENARIOS[scenario]
    commands = COMMAND.findall(found.change)
    assert commands, found.change

    for command in commands:
        if SERVICES.match(command):
            starts(command, replica.engine, tmp_path)
        else:
            shell(command, replica.engine)


def state(engine: Engine, task: str) -> str:
    with engine.connect() as conn:
        query = text("SELECT state FROM task_instance WHERE task_id = :task")
        return str(conn.scalar(query, {"task": task}))


@pytest.mark.parametrize(
    ("scenario", "task"),
    [
        (not_chosen, "branch"),
        (below_what_is_not_chosen, "branch"),
        (below_a_failure, "a"),
        (rule_that_cannot_hold, "a"),
        (expanded_over_nothing, "plan"),
    ],
)
def test_the_task_that_decided_runs_again(
    scenario: Callable[[Replica], Ask], task: str, replica: Replica
) -> None:
    """To clear only what followed it would have that follow it again."""
    asked = scenario(replica)
    [command] = COMMAND.findall(told(replica.engine, asked).change)

    shell(command, replica.engine)

    assert state(replica.engine, task) == "none"
    assert state(replica.engine, asked[1]) == "none"
    start_runs(replica, NOW)
    go_on(replica)
    assert state(replica.engine, task) == "scheduled"
    assert state(replica.engine, asked[1]) == "none"


@pytest.mark.regression
def test_a_backfill_that_is_advised_runs_the_interval_that_was_asked_for(replica: Replica) -> None:
    asked = left_out(replica)
    [command] = COMMAND.findall(told(replica.engine, asked).change)

    shell(command, replica.engine)

    with replica.engine.connect() as conn:
        found = conn.execute(text("SELECT interval_start, interval_end FROM dag_run"))
        days = [(row[0], row[1]) for row in found]
    assert days == [(seed.START + 2 * seed.DAY, seed.START + 3 * seed.DAY)]


def test_every_reason_with_a_command_is_tried() -> None:
    """The explanations of the code whose `change` holds a command, by their reason."""
    package = Path(headway.__file__).parent
    files = [*(package / "decide/explain").glob("*.py"), package / "actions/explain/explain.py"]
    assert len(files) > 10
    with_command: set[str] = set()
    for file in files:
        for call in ast.walk(ast.parse(file.read_text())):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) != "Explanation":
                continue
            given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            if re.search(r"command\(|_clear\(|headway|START_A|start\b", given["change"]):
                with_command |= set(re.findall(r"Reason\.(\w+)", given["reason"]))

    missing = with_command - {reason.name for reason in SCENARIOS.values()} - UNREACHABLE
    assert missing == set()
    assert len(with_command) > 15


UNREACHABLE = {"DEFERRED", "QUEUE", "IDLE_SLOTS", "WORKERS_FULL"}
"""No task defers itself yet; the other three print the command that NO_WORKER prints."""


def test_a_command_survives_a_shell(replica: Replica) -> None:
    """Names may hold what a shell minds."""
    wild = "it's; $(touch /tmp/x) & a run"
    number = seed.start_run(replica.engine, seed.dag())
    with replica.engine.begin() as conn:
        rename = text("UPDATE dag_run SET run_id = :wild WHERE id = :id")
        conn.execute(rename, {"wild": wild, "id": number})
    go_on(replica)
    seed.finish(replica.engine, Outcome.FAILED, FAILED)
    [command] = COMMAND.findall(told(replica.engine, (wild, "work")).change)

    assert "1 task instance cleared" in shell(command, replica.engine)
