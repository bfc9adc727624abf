"""Backfill the flights example by single days and rolled up, in peace and under fire.

    python -m tests.acceptance.flights_backfill --days 365 --rollup 28

Each way has a folder, a database and services of its own.  The exit status is 0 if all leave
identical aggregate tables, which are also those of a computation without Spark.
"""

import argparse
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from random import Random
from secrets import randbits
from typing import Any, Final

from sqlalchemy import Engine, TextClause, text
from tests.acceptance.killing import BAG, Killer
from tests.acceptance.tables import Tables, differences

from headway.cli.launch.demo import DAG_ID, examples_folder
from headway.runtime.daemon.clock import SystemClock
from headway.testing.services.machine import Machine
from headway.testing.time.clock import until

FIRST: Final = date(2013, 1, 1)
WAYS: Final = ("single", "rollup", "single-killed", "rollup-killed")
TASKS: Final = 8
IDLE_WITHIN: Final = 60.0

LIGHT_WORK: Final = {
    "spark.sql.codegen.wholeStage": False,
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""A day is a thousand rows: compiling code for it takes longer than going through them."""

ACTIVE: Final = text("SELECT count(*) FROM dag WHERE active")
SUCCEEDED: Final = text("SELECT count(*) FROM task_instance WHERE state = 'success'")
COUNTS: Final = text("""
    SELECT (SELECT count(*) FROM backfill) AS backfills,
           (SELECT count(*) FROM dag_run) AS runs,
           (SELECT count(*) FROM dag_run WHERE state = 'success') AS good_runs,
           (SELECT count(*) FROM task_instance) AS tasks,
           (SELECT count(*) FROM task_instance WHERE state = 'success') AS good_tasks,
           (SELECT count(*) FROM task_attempt) AS attempts,
           (SELECT count(*) FROM task_attempt WHERE outcome = 'lost') AS lost
""")

_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class Options:
    """How many days are backfilled, rolled up by how many, and how much is killed."""

    days: int
    rollup: int
    ways: Sequence[str]
    seed: int
    kills: int
    root: Path

    @property
    def last(self) -> date:
        """The last day."""
        return FIRST + timedelta(self.days - 1)

    def runs(self, way: str) -> int:
        """Return how many runs that way consists of."""
        return -(-self.days // self.rollup) if way.startswith("rollup") else self.days


@dataclass(frozen=True, slots=True)
class Done:
    """What came of one way: how long it took in seconds, what it consisted of, what was killed."""

    way: str
    seconds: float
    counts: Any
    tables: Tables
    killed: Counter[str] = field(default_factory=Counter)


def backfill(way: str, options: Options) -> Done:
    """Do it one way, with services that are gone afterwards."""
    given = {"HEADWAY_WORKER_SPARK_CONF": json.dumps(LIGHT_WORK)}
    machine = Machine.new(options.root / way, given)
    output = machine.root / "output"
    with machine.standalone(examples_folder() / "dags", "--schedulers", "2") as (_, engine):
        until(lambda: _count(engine, ACTIVE), "the DAG in force")
        started = _CLOCK.monotonic()
        tasks = options.runs(way) * TASKS
        kills = options.kills if way.endswith("killed") else 0
        chance = Random(f"{options.seed} {way}")
        killer = Killer(machine, chance, kills, lambda: _count(engine, SUCCEEDED) / tasks)
        with killer.at_large():
            follow(machine, command(way, options, output))
        seconds = _CLOCK.monotonic() - started
        with engine.connect() as conn:
            counts = conn.execute(COUNTS).one()
    machine.wait_until_idle(IDLE_WITHIN)
    return Done(way, seconds, counts, Tables.read(output), killer.killed)


def command(way: str, options: Options, output: Path) -> list[str]:
    """Return the command that a user would give."""
    conf = json.dumps({"output": str(output), "picture": False})
    rollup = ["--rollup", str(options.rollup)] if way.startswith("rollup") else []
    days = ["--from", str(FIRST), "--to", str(options.last)]
    return ["create", DAG_ID, *days, "--conf", conf, "--max-active-runs", "4", *rollup]


def follow(machine: Machine, create: Sequence[str]) -> None:
    """Create the backfill and see it to its end, as a user does whose client may be killed."""
    arguments, killed = create, False
    while True:
        with machine.running("backfill", *arguments, name="client") as client:
            status = client.process.wait()
        if status == 0:
            return
        # Whether a client that was killed has created the backfill before it died the list tells:
        # or the next one that tries to, if the database was still about it.
        listed = machine.run("backfill", "list", "--output", "json")
        found = [row["id"] for row in json.loads(listed.stdout or "[]")]
        if status > 0 and not (killed and found and arguments is create):
            raise SystemExit(f"`headway backfill {arguments[0]}`: {status}\n{client.complained()}")
        arguments, killed = ["watch", str(found[0])] if found else create, True


def problems(done: Done, options: Options) -> Iterator[str]:
    """Yield what is wrong with one way alone."""
    runs, counts = options.runs(done.way), done.counts
    expected = (1, runs, runs, runs * TASKS, runs * TASKS)
    if tuple(counts)[:5] != expected:
        yield f"{done.way}: not one backfill of {runs} runs that all went well: {counts}"
    for table in done.tables.rows:
        if len(days := done.tables.days(table)) != options.days:
            yield f"{done.way}: {table} has {len(days)} days"
    if done.way.endswith("killed") and (spared := set(BAG) - set(done.killed)):
        yield f"{done.way}: no {' and no '.join(sorted(spared))} was killed"


def told(done: Done) -> str:
    """Return one way in words."""
    it = done.counts
    killed = ", ".join(f"{kind} {number} times" for kind, number in sorted(done.killed.items()))
    tables = ", ".join(
        f"{table} {len(rows):,} rows {done.tables.checksum(table)}"
        for table, rows in done.tables.rows.items()
    )
    return (
        f"{done.way}: {done.seconds:.1f} s, {it.runs} runs, {it.tasks:,} task instances, "
        f"{it.attempts:,} attempts, {it.lost} lost; killed: {killed or 'nothing'}\n    {tables}"
    )


def accept(options: Options) -> list[str]:
    """Go all ways; return what is wrong."""
    import verify  # of the example; shares no code with the pipeline

    wrong: list[str] = []
    first: Done | None = None
    for way in options.ways:
        done = backfill(way, options)
        print(told(done), flush=True)
        wrong += problems(done, options)
        if first is None:
            first = done
            days = [str(FIRST + timedelta(n)) for n in range(options.days)]
            wrong += verify.compare(options.root / way / "output", days)
        else:
            found = differences(first.tables, done.tables)
            wrong += [f"{first.way} and {way} differ: {one}" for one in found]
    return wrong


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--rollup", type=int, default=28)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    parser.add_argument("--seed", type=int, default=randbits(32))
    parser.add_argument("--kills", type=int, default=20, help="So many in each of these ways.")
    parser.add_argument("--keep", type=Path, help="An empty folder for all that is made.")
    given = parser.parse_args(arguments)
    root = given.keep or Path(tempfile.mkdtemp(prefix="headway-acceptance-"))
    options = Options(given.days, given.rollup, given.ways, given.seed, given.kills, root)
    print(f"{FIRST} to {options.last}, rollup {options.rollup}, seed {options.seed}", flush=True)
    started = _CLOCK.monotonic()
    wrong = accept(options)
    print(*wrong, sep="\n", end="\n" if wrong else "")
    verdict = f"all is in {root}" if wrong else f"{', '.join(options.ways)}: identical tables"
    print(f"{verdict}.  {_CLOCK.monotonic() - started:.1f} s in all.")
    if not wrong and not given.keep:
        shutil.rmtree(root)
    return 1 if wrong else 0


def _count(engine: Engine, query: TextClause) -> int:
    with engine.connect() as conn:
        return int(conn.scalar(query) or 0)


if __name__ == "__main__":
    sys.path += [str(examples_folder())]
    sys.exit(main(sys.argv[1:]))
