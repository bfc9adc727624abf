"""One play of chaos: set up, do harm for so long, let everything come to its end, look back."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from threading import Event
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.chaos import checker, process_faults
from tests.chaos.database_faults import DatabaseFaults
from tests.chaos.history import read_history
from tests.chaos.lanes import Lane, Steps, Timer
from tests.chaos.other_faults import OtherFaults
from tests.chaos.process_faults import ProcessFaults
from tests.chaos.scene import LEASE, SETTINGS, Scene
from tests.chaos.services import Fleet, Service

from headway.db import engine as engines
from headway.db import migrate
from headway.db.logins import Login
from headway.embedded.postgres import PostgresServer
from headway.runtime.clock import SystemClock
from headway.testing import invariants, logins
from headway.testing.machine import processes_below, until
from headway.testing.relay import Relay, relay
from headway.testing.stack import environment_for

CAST: Final = {
    "parser": (Login.PARSER, 2),
    "scheduler": (Login.SCHEDULER, 2),
    "worker": (Login.WORKER, 3),
}
"""The login and the number of the services of each kind."""

ACTIVE: Final = text("SELECT count(*) FROM dag WHERE active")
TO_DO: Final = text("""
    SELECT (SELECT count(*) FROM dag_run WHERE ended_at IS NULL)
         + (SELECT count(*) FROM dag WHERE next_interval_start IS NOT NULL)
""")
"""Runs that have not ended, and DAGs with a run to come."""

DAGS: Final = frozenset({"short", "retried", "long", "skips", "spark", "driver"})
"""The DAGs of `dags/pipelines.py`."""

_LOOK: Final = 0.05
_LIMITS_EVERY: Final = 2.0
_UP_WITHIN: Final = 60.0
_OVER_WITHIN: Final = 600.0
"""Seconds; a task that was lost ten times waits for 256 of them before it is tried again."""

_STOP_WITHIN: Final = 60.0
_CLOCK: Final = SystemClock()


@dataclass(frozen=True, slots=True)
class Options:
    """How long harm is done, by which seed, and what is done."""

    minutes: float
    seed: int
    stall: tuple[str, ...]
    skew: float
    root: Path


@dataclass(slots=True)
class Result:
    """What came of it."""

    violations: list[str]
    executions: int
    done: Counter[str]
    missed: Counter[str]
    outcomes: Counter[str]
    by_dag: Counter[str]
    kinds: list[str]

    @property
    def never_seen(self) -> list[str]:
        """The kinds of faults whose effect was never seen."""
        return [kind for kind in self.kinds if not self.done[kind]]


@dataclass(slots=True)
class Watch:
    """Looks at the limits of the database, again and again, while harm is done."""

    scene: Scene
    found: set[str] = field(default_factory=set)
    looked_at: float = 0.0

    def look(self) -> None:
        """Note limits that are exceeded now, if it is time to look."""
        now = _CLOCK.monotonic()
        if now - self.looked_at < _LIMITS_EVERY:
            return
        self.looked_at = now
        try:
            self.found.update(invariants.violations(self.scene.engine, invariants.LIMITS))
        except DBAPIError as error:
            if not engines.is_transient(error):
                raise


def play(options: Options) -> Result:
    """Do all of it; nothing is left running afterwards."""
    start = datetime.fromtimestamp(int(_CLOCK.now().timestamp()), UTC)
    end = start + timedelta(minutes=options.minutes)
    with stage(options, start, end) as scene:
        lanes = _lanes(scene, options)
        watch = Watch(scene)
        _harm(scene, lanes, watch, options.minutes * 60)
        over = _come_to_rest(scene, watch)
        scene.fleet.stop(_STOP_WITHIN)
        history = read_history(scene.engine, scene.root / "records.jsonl")
        expected = checker.Expected(start, end, DAGS, scene.touched)
        violations = [
            *scene.fleet.unexpected,
            *_tracebacks(scene.fleet),
            *sorted(watch.found),
            *([] if over else [f"runs were open {_OVER_WITHIN:g} s after the last fault"]),
            *checker.violations(history, expected),
            *invariants.violations(scene.engine),
        ]
    violations += _left_behind(options.root)
    done, missed = (
        sum((getattr(lane, name) for lane in lanes), Counter[str]()) for name in ("done", "missed")
    )
    return Result(
        violations=violations,
        executions=checker.executions(history),
        done=done,
        missed=missed,
        outcomes=Counter(str(it.outcome) for it in history.attempts),
        by_dag=Counter(it.task.dag_id for it in history.records if it.what == "start"),
        kinds=[name for lane in lanes for name, _ in lane.faults],
    )


@contextmanager
def stage(options: Options, start: datetime, end: datetime) -> Iterator[Scene]:
    """Give the scene with all services started and all DAGs in force."""
    root = options.root
    dags = root / "dags"
    shutil.copytree(Path(__file__).parent / "dags", dags)
    (root / "records.jsonl").touch()
    (dags / "place.py").write_text(
        f"RECORDS = {str(root / 'records.jsonl')!r}\nLEASE = {LEASE}\n"
        f"START = {int(start.timestamp())}\nEND = {int(end.timestamp())}\n"
        'QUEUE = SPARK_QUEUE = "default"\n'
    )
    with ExitStack() as ending:
        postgres = ending.enter_context(PostgresServer(root / "postgres"))
        migrate.upgrade(postgres.url)
        urls = {kind: logins.address(postgres.url, it) for kind, (it, _) in CAST.items()}
        relays: dict[str, Relay] = {}
        services = []
        for kind, (_, count) in CAST.items():
            for name in (f"{kind}-{number}" for number in range(1, count + 1)):
                url = urls[kind]
                if kind == "worker":
                    relays[name] = ending.enter_context(relay(url))
                    url = relays[name].through(url)
                services.append(_service(name, kind, root, url))
        engine = engines.connect(postgres.url, name="chaos", pool_size=5)
        ending.callback(engine.dispose)
        user = environment_for(root / "user", {"HEADWAY_DATABASE_URL": _user(postgres.url)})
        scene = Scene(root, postgres, engine, Fleet(_CLOCK, services), relays, user)
        ending.callback(scene.fleet.stop, 1.0)
        scene.fleet.start()
        until(lambda: scene.scalar(ACTIVE) == len(DAGS), "all DAGs in force", _UP_WITHIN)
        yield scene


def _service(name: str, kind: str, root: Path, url: str) -> Service:
    home = root / name
    home.mkdir()
    given = {**SETTINGS, "HEADWAY_PARSER_DAGS": str(root / "dags"), "HEADWAY_DATABASE_URL": url}
    return Service(name, kind, environment_for(home, given), root / f"{name}.log")


def _user(url: str) -> str:
    return logins.address(url, Login.USER)


def _lanes(scene: Scene, options: Options) -> list[Lane]:
    """Return a lane for workers and one for everything else: both go on side by side."""
    timer = Timer(_CLOCK)
    chances = [Random(f"{options.seed} {lane}") for lane in ("workers", "others")]
    return [
        Lane(timer, chances[0], _worker_faults(scene, timer, chances[0], options.stall)),
        Lane(timer, chances[1], _other_faults(scene, timer, chances[1], options.skew)),
    ]


def _worker_faults(
    scene: Scene, timer: Timer, chance: Random, stall: tuple[str, ...]
) -> list[tuple[str, Callable[[], Steps]]]:
    processes, database = ProcessFaults(scene, timer, chance), DatabaseFaults(scene, timer, chance)
    stalls: dict[str, Callable[[], Steps]] = {
        "supervisor": processes.stall_supervisor,
        "forker": lambda: processes.stall_below(process_faults.forkers),
        "nanny": lambda: processes.stall_below(process_faults.nannies),
    }
    return [
        ("kill worker", lambda: processes.kill("worker")),
        ("kill forker", lambda: processes.kill_below(process_faults.forkers)),
        ("kill nanny", lambda: processes.kill_below(process_faults.nannies)),
        ("kill attempt", lambda: processes.kill_below(process_faults.attempts)),
        ("kill Spark server", lambda: processes.kill_below(process_faults.spark_servers)),
        ("cut off worker", database.cut_off),
        *((f"stall {name}", stalls[name]) for name in stall),
    ]


def _other_faults(
    scene: Scene, timer: Timer, chance: Random, skew: float
) -> list[tuple[str, Callable[[], Steps]]]:
    processes, database = ProcessFaults(scene, timer, chance), DatabaseFaults(scene, timer, chance)
    others = OtherFaults(scene, timer, chance, _CLOCK, scene.root / "dags" / "pipelines.py", skew)
    return [
        ("kill scheduler", lambda: processes.kill("scheduler")),
        ("stall scheduler", processes.stall_scheduler),
        ("kill parser", lambda: processes.kill("parser")),
        ("kill Postgres", database.kill_postgres),
        ("close connections", database.terminate_backends),
        ("hold a lock", database.hold_lock),
        ("clear a task", others.clear_running),
        ("cancel a run", others.cancel_run),
        ("edit the DAG file", others.edit),
        *([("shift a clock", others.shift_clock)] if skew else []),
    ]


def _harm(scene: Scene, lanes: list[Lane], watch: Watch, seconds: float) -> None:
    """Do harm for so long, and finish the faults that are in progress then."""
    end = _CLOCK.monotonic() + seconds
    while _CLOCK.monotonic() < end or any(lane.busy for lane in lanes):
        for lane in lanes:
            if _CLOCK.monotonic() < end:
                lane.step()
            else:
                lane.finish()
        _go_on(scene, watch)


def _come_to_rest(scene: Scene, watch: Watch) -> bool:
    """Wait until all runs have ended; return whether they have."""
    end = _CLOCK.monotonic() + _OVER_WITHIN
    while scene.scalar(TO_DO) != 0:
        if _CLOCK.monotonic() > end:
            return False
        _go_on(scene, watch)
    return True


def _go_on(scene: Scene, watch: Watch) -> None:
    scene.fleet.keep()
    watch.look()
    _CLOCK.wait(Event(), _LOOK)


def _tracebacks(fleet: Fleet) -> Iterator[str]:
    for service in fleet.services:
        if count := service.logged().count("Traceback (most recent call last)"):
            yield f"{service.name} has logged {count} tracebacks"


def _left_behind(root: Path) -> Iterator[str]:
    """Processes and scratch folders that are still there after everything has stopped."""
    for pid, line in processes_below(root).items():
        yield f"process {pid} was left: {line[:120]}"
    for folder in root.glob("*/scratch/*"):
        if folder.name != "callbacks" or any(folder.iterdir()):
            yield f"folder {folder.relative_to(root)} was left"
