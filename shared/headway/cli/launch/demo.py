"""`headway demo`: a week of real flights through the real services."""

import json
import shutil
import sys
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from shlex import join, quote
from threading import Event
from typing import TYPE_CHECKING

from headway.actions.backfills.create import BackfillRequest, create_backfill
from headway.cli.input import interrupts
from headway.cli.input.session import actor
from headway.cli.input.values import parse_date
from headway.cli.launch import api_address, stack
from headway.cli.screen.watch_backfill import watch_backfill
from headway.db.core import engine as engines
from headway.db.core.server import now
from headway.db.reads import dag_file_views, dag_views
from headway.domain.errors import ConflictError, EmbeddedError, NotFoundError
from headway.embedded.account import server_account
from headway.embedded.data_directory import hold
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.logs.escaping import visible
from headway.runtime.logs.lines import decode, rendered
from headway.runtime.settings import configuration
from headway.runtime.settings.secret_keys import KEYS_FILE, UNFINISHED_KEYS_FILE

if TYPE_CHECKING:
    from headway.cli.input.session import Database

DAG_ID = "flights_daily"
ZONE = "America/New_York"
FIRST = date(2013, 1, 1)
LEFT_BEHIND = frozenset(
    {
        *("api-address", "api-database-url", "cache", "database-url", "logs", "output"),
        *("postgres", "services", "scratch", "scratch.lock", "spark", "spark.lock"),
        *(KEYS_FILE, UNFINISHED_KEYS_FILE),
    }
)
"""What a demo makes in its home."""

COLUMNS = {
    "day": "day",
    "flights": "flights",
    "cancelled": "cancelled",
    "mean_dep_delay": "late off\n(min)",
    "mean_arr_delay": "late in\n(min)",
    "carriers": "carriers",
    "airports": "airports",
    "with_weather": "weather\nknown",
    "with_plane": "plane\nknown",
}
"""What the table shows of a day's summary, and under which heading; 80 columns hold it whole."""


def run(days: int) -> int:
    """Run the demo of so many days in a home that starts empty; return the exit status."""
    clock = SystemClock()
    started = clock.monotonic()
    home = configuration.make_home(configuration.home() / "demo")
    examples = examples_folder()
    erase(home)
    output = home / "output"
    shown = [FIRST + timedelta(days=n) for n in range(days)]
    failed = 1
    with interrupts.ending_well() as ended, api_address.claimed() as api:
        print("Starting Postgres, a parser, two schedulers and a worker …", flush=True)
        with stack.running(home, examples / "dags", schedulers=2, api=api) as services:
            if api is not None and services.link is not None:
                print(
                    f"Watch it in a browser, signed in once: {api.url}{services.link}", flush=True
                )
            backfill_id = _backfill(services, shown, output)
            print(f"Backfilling {DAG_ID} from {shown[0]} to {shown[-1]}.", flush=True)
            progress = watch_backfill(backfill_id, services.url, services.check)
            failed = progress.failed
    if ended.interrupted:
        print("Stopped before the end; nothing is left running.")
        return 130
    if failed:
        _explain(home)
        return 1
    _show(shown, output)
    print(f"\nOutput: {output}   picture: {output / 'report' / 'days.png'}")
    print(f"All services have stopped.  {clock.monotonic() - started:.1f} s in all.")
    if api is not None:
        print(f"See the same runs again: {_again(home, examples / 'dags')}")
    return 0


def erase(home: Path) -> None:
    """Delete what an earlier demo left; EmbeddedError while one runs there.

    ConflictError when there is anything that no demo has made.
    """
    strange = sorted({path.name for path in home.iterdir()} - LEFT_BEHIND)
    if strange:
        raise ConflictError(
            f"{home} holds {strange[0]!r}, which no demo has made. Move it away, or set "
            "HEADWAY_HOME to another folder: the demo starts in an empty one."
        )
    database = home / "postgres"
    if (database / "password").exists():
        with hold(database, server_account(database / "data"), SystemClock()):
            shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(home, ignore_errors=True)


def examples_folder() -> Path:
    """Return the folder of the flights example: of the package, or of the source tree."""
    package = Path(__file__).resolve().parents[2]
    for folder in (package / "examples", package.parents[1] / "examples"):
        if (folder / "flights" / "dags").is_dir():
            return folder / "flights"
    raise NotFoundError("The example DAGs are not installed; run the demo from a source tree.")


def _backfill(services: stack.LocalStack, days: Sequence[date], output: Path) -> int:
    engine = engines.connect(services.url, name="headway demo", pool_size=1)
    try:
        _wait_for_dag(engine, services)
        request = BackfillRequest(
            DAG_ID,
            parse_date(str(days[0]), ZONE),
            parse_date(str(days[-1]), ZONE),
            {"output": str(output)},
        )
        with engine.begin() as conn:
            return create_backfill(conn, request, now(conn), actor()).id
    finally:
        engine.dispose()


def _wait_for_dag(engine: "Database", services: stack.LocalStack) -> None:
    clock, never = SystemClock(), Event()
    deadline = clock.monotonic() + 60
    while clock.monotonic() < deadline:
        services.check()
        with engine.connect() as conn:
            if dag_views.in_force(conn, DAG_ID) is not None:
                return
            errors = dag_file_views.errors(conn)
        if errors:
            raise EmbeddedError(f"{errors[0].relative_path} cannot be read:\n{errors[0].error}")
        clock.wait(never, 0.05)
    raise EmbeddedError(
        f"The DAG {DAG_ID} was not read within a minute; see {services.children.logs}."
    )


def _show(days: Sequence[date], output: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(
        title="Flights that left New York", title_justify="left", box=None, padding=(0, 0, 0, 1)
    )
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right")
    for day in days:
        summary = json.loads((output / "summary" / f"day={day}.json").read_text())
        table.add_row(*(str(summary[field]) for field in COLUMNS))
    print()
    Console().print(table)


def _again(home: Path, dags: Path) -> str:
    """Return the command that shows the runs of this demo, as it can be typed here."""
    program = Path(sys.argv[0])
    named = str(_from_here(program)) if program.name == "headway" else "headway"
    words = [named, "standalone", "--dags", str(_from_here(dags))]
    return f"HEADWAY_HOME={quote(str(_from_here(home)))} {join(words)}"


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _explain(home: Path) -> None:
    logs = sorted((home / "logs").rglob("*.log"))
    for log in logs:
        lines = [decode(line) for line in log.read_bytes().splitlines()]
        if lines and lines[-1].outcome == "failed":
            print(f"\n{log} ends:", file=sys.stderr)
            texts = [visible(text) for line in lines[-12:] for text in rendered(line)]
            print("\n".join(texts), file=sys.stderr)
            break
    print(f"The backfill failed; all logs are in {home / 'logs'}.", file=sys.stderr)
