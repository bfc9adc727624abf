"""Backfills by the command line, in running services."""

import json
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from headway.actions.backfills.control import progress_of
from headway.db.reads.backfill_views import BackfillProgress
from headway.testing.services.stack import Stack

pytestmark = pytest.mark.services


@pytest.fixture(scope="module", autouse=True)
def _narrow(stack: Stack) -> None:
    says(stack, "pools", "set", "narrow", "1")


def says(stack: Stack, *arguments: str) -> str:
    done = stack.headway(*arguments)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def create(stack: Stack, dag_id: str, folder: Path, *arguments: str) -> int:
    conf = json.dumps({"folder": str(folder)})
    said = says(stack, "backfill", "create", dag_id, "--conf", conf, "--no-wait", *arguments)
    return int(said.split()[1])


def until(stack: Stack, number: int, state: str, running: int = 0) -> BackfillProgress:
    """Wait until the backfill is in that state, with so many runs that run."""

    def look(conn: Connection) -> BackfillProgress | None:
        it = progress_of(conn, number)
        return it if (it.state, it.running) == (state, running) else None

    return stack.until(look, f"backfill {number} {state} with {running} running")


def let(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


def test_a_dry_run_says_what_becomes_of_each_date(stack: Stack, tmp_path: Path) -> None:
    let(tmp_path, "2013-01-28")
    until(stack, create(stack, "past", tmp_path, "--date", "2013-01-28"), "success")
    command = ("backfill", "create", "past", "--from", "2013-01-26", "--to", "2013-01-30")

    rows = json.loads(says(stack, *command, "--rollup", "2", "--dry-run", "--output", "json"))

    assert [row["decision"] for row in rows] == ["create", "create", "skip", "create", "create"]
    assert rows[2]["reason"].endswith("was well; --reprocess completed runs it again.")
    assert rows[3]["run_interval"] == rows[4]["run_interval"]
    assert "2013-01-26T00:00:00Z" in says(stack, *command, "--dry-run")
    assert len(stack.runs("past")) == 1


def test_a_backfill_is_paused_goes_on_and_is_cancelled(stack: Stack, tmp_path: Path) -> None:
    days = ("--from", "2013-01-01", "--to", "2013-01-04", "--max-active-runs", "1")
    number = create(stack, "past", tmp_path, *days)
    until(stack, number, "running", 1)

    assert says(stack, "backfill", "pause", str(number)) == f"Backfill {number} is paused.\n"
    let(tmp_path, "2013-01-01", "go")
    until(stack, number, "paused")
    # A whole run after it: the schedulers have had occasion to start another one.
    stack.run("live", {"folder": str(tmp_path)})
    assert until(stack, number, "paused").queued == 3
    queued = stack.runs("past")[1]
    told = says(stack, "explain", "past", queued.run_id, "works")
    assert f"Backfill {number} is paused" in told

    says(stack, "backfill", "resume", str(number))
    until(stack, number, "running", 1)
    said = says(stack, "backfill", "cancel", str(number), "--reason", "enough", "--yes")

    assert said.endswith("that had not begun and are deleted: 2; that are ended: 1.\n")
    found = until(stack, number, "cancelled")
    assert (found.planned, found.succeeded, found.failed) == (2, 1, 1)
    watched = stack.headway("backfill", "watch", str(number))
    assert watched.returncode == 1
    assert watched.stdout.startswith("[backfill progress: 100.0%] | total dagruns: 2 | total tasks")
    rows = json.loads(says(stack, "backfill", "show", str(number), "--dates", "-o", "json"))
    assert [row["state"] for row in rows] == ["success", "failed", None, None]


def test_idle_only_takes_no_slot_that_another_task_waits_for(stack: Stack, tmp_path: Path) -> None:
    """It has waited the longest, and comes last: behind live runs, and behind another backfill."""
    conf = {"folder": str(tmp_path)}
    stack.trigger("live", conf).wait_for_task("holds", "running")
    idle, plain = ("2013-01-01", "2013-01-02", "--idle-only"), ("2013-01-03", "2013-01-04")
    for first, last, *only in (idle, plain):
        number = create(stack, "idle", tmp_path, "--from", first, "--to", last, *only)
        until(stack, number, "running", 2)
    for _ in range(2):
        stack.trigger("live", conf).wait_for_task("holds", "scheduled")
    waiting = stack.runs("idle")
    for run in waiting:
        run.wait_for_task("fills", "scheduled")

    let(tmp_path, "go")
    for run in waiting:
        run.wait()

    order = text("""
        SELECT task.dag_id, extract(day FROM run.interval_start)
          FROM task_attempt AS it
          JOIN task_instance AS task ON task.id = it.task_instance_id
          JOIN dag_run AS run ON run.id = task.dag_run_id
         WHERE run.conf ->> 'folder' = :folder
         ORDER BY it.started_at
    """)
    with stack.engine.connect() as conn:
        rows = conn.execute(order, conf).all()
    found = ["live" if dag_id == "live" else int(day) for dag_id, day in rows]
    assert found[:3] == ["live"] * 3
    assert (set(found[3:5]), set(found[5:])) == ({3, 4}, {1, 2})
