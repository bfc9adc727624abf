"""One play of chaos: set up, do harm for so long, let everything come to its end, look back."""

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from threading import Event
from typing import Final

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from tests.chaos import alerts, checker, deadlines, faults
from tests.chaos.alerts import Alarms
from tests.chaos.clients import answers
from tests.chaos.clients.crowd import Crowd
from tests.chaos.clients.exchange import ASKED
from tests.chaos.fault_series import FaultSeries, Timer
from tests.chaos.history import read_history
from tests.chaos.receiver import Receiver, receiving
from tests.chaos.scene import LEASE, SETTINGS, Scene
from tests.chaos.services import Fleet, Service, port_setting, ports_to_keep

from headway.db.access import migrate
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.embedded.postgres import PostgresServer
from headway.runtime.daemon.clock import SystemClock
from headway.testing.database import invariants, logins
from headway.testing.database.relay import Relay, relay
from headway.testing.services.machine import processes_below
from headway.testing.services.stack import environment_for
from headway.testing.time.clock import until

CAST: Final = {
    "parser": (Login.PARSER, 2),
    "scheduler": (Login.SCHEDULER, 2),
    "worker": (Login.WORKER, 3),
    "api": (Login.API, 2),
}
"""The login and the number of the services of each kind."""

CUT_OFF: Final = frozenset({"worker", "api"})
"""The kinds of services that can be cut off from the database."""

ACTIVE: Final = text("SELECT count(*) FROM dag WHERE active")
TO_DO: Final = text("""
    SELECT (SELECT count(*) FROM dag_run WHERE ended_at IS NULL)
         + (SELECT count(*) FROM dag WHERE next_interval_start IS NOT NULL)
""")
"""Runs that have not ended, and DAGs with a run to come."""

DAGS: Final = frozenset({"short", "retried", "long", "skips", "spark", "driver"})
"""The DAGs of `dags/pipelines.py`."""

LATE: Final = "late"
"""The DAG of `late/late.py`."""

_LOOK: Final = 0.05
_LIMITS_EVERY: Final = 2.0
_UP_WITHIN: Final = 60.0
_OVER_WITHIN: Final = 600.0
"""Seconds; a task that was lost ten times waits for 256 of them before it is tried again."""

_ANSWERED_WITHIN: Final = 180.0
_SEEN_WITHIN: Final = 40.0
"""Seconds; a client that watches may sit before an API that stands still for 20 of them."""

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
    alerts: set[str]
    answers: Counter[str]
    streams: int
    """How often clients have opened a stream."""

    @property
    def never_seen(self) -> list[str]:
        """The kinds of faults whose effect was never seen."""
        return [kind for kind in self.kinds if not self.done[kind]]


@dataclass(slots=True)
class Watch:
    """Looks at alerts and at the limits of the database, again and again, while harm is done."""

    scene: Scene
    alarms: Alarms
    found: set[str] = field(default_factory=set)
    looked_at: float = 0.0

    def look(self) -> None:
        """Note alerts that fire and limits that are exceeded now, if it is time to look."""
        self.alarms.look()
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
    with stage(options, start, end) as scene, alerts.alarmed(scene, _CLOCK) as alarms:
        all_series = _all_series(scene, options)
        watch = Watch(scene, alarms)
        crowd = Crowd.of(scene, options.seed, _CLOCK)
        crowd.begin()
        _harm(scene, all_series, watch, options.minutes * 60)
        crowd.finish(lambda seen: _until(seen, scene, watch, _ANSWERED_WITHIN))
        over = _come_to_rest(scene, watch)
        unlike = crowd.leave(lambda seen: _until(seen, scene, watch, _SEEN_WITHIN))
        scene.fleet.stop(_STOP_WITHIN)
        history = read_history(scene.engine, scene.root / "records.jsonl")
        expected = checker.Expected(start, end, DAGS | {LATE}, scene.touched, {ASKED})
        asked = crowd.asked([span for series in all_series for span in series.spans])
        telling = deadlines.read(scene.engine)
        violations = [
            *scene.fleet.unexpected,
            *_tracebacks(scene.fleet),
            *sorted(watch.found),
            *([] if over else [f"runs were open {_OVER_WITHIN:g} s after the last fault"]),
            *checker.violations(history, expected),
            *deadlines.violations(telling, scene.receiver.posts),
            *crowd.violations(asked),
            *unlike,
            *invariants.violations(scene.engine),
        ]
    violations += _left_behind(options.root)
    done, missed = (
        sum((getattr(series, name) for series in all_series), Counter[str]())
        for name in ("done", "missed")
    )
    outcomes = Counter(str(attempt.outcome) for attempt in history.attempts)
    violations += alerts.violations(done, outcomes["lost"], len(telling.missed), alarms.fired)
    return Result(
        violations=violations,
        executions=checker.executions(history),
        done=done,
        missed=missed,
        outcomes=outcomes,
        by_dag=Counter(record.task.dag_id for record in history.records if record.what == "start"),
        kinds=[name for series in all_series for name, _ in series.faults],
        alerts=alarms.fired,
        answers=answers.counted_answers(asked),
        streams=sum(watcher.opened for watcher in crowd.watchers),
    )


@contextmanager
def stage(options: Options, start: datetime, end: datetime) -> Iterator[Scene]:
    """Give the scene with all services started and all DAGs in force."""
    root = options.root
    dags = root / "dags"
    here = Path(__file__).parent
    shutil.copytree(here / "dags", dags)
    for folder in (LATE, ASKED):
        shutil.copytree(here / folder, dags, dirs_exist_ok=True)
    (root / "records.jsonl").touch()
    (dags / "place.py").write_text(
        f"RECORDS = {str(root / 'records.jsonl')!r}\nLEASE = {LEASE}\n"
        f"START = {int(start.timestamp())}\nEND = {int(end.timestamp())}\n"
        'QUEUE = SPARK_QUEUE = "default"\n'
    )
    with ExitStack() as ending:
        postgres = ending.enter_context(PostgresServer(root / "postgres"))
        migrate.upgrade(postgres.url)
        receiver = ending.enter_context(receiving())
        urls = {kind: logins.address(postgres.url, login) for kind, (login, _) in CAST.items()}
        readonly = logins.address(postgres.url, Login.READONLY)
        relays: dict[str, Relay] = {}
        services, ports = [], ports_to_keep()
        for kind, (_, count) in CAST.items():
            for name in (f"{kind}-{number}" for number in range(1, count + 1)):
                given = {"HEADWAY_DATABASE_URL": urls[kind]}
                if kind == "api":
                    given["HEADWAY_DATABASE_READONLY_URL"] = readonly
                if kind in CUT_OFF:
                    relays[name] = ending.enter_context(relay(urls[kind]))
                    given = {setting: relays[name].through(url) for setting, url in given.items()}
                given |= {setting: str(next(ports)) for setting in _ports(kind)}
                services.append(_service(name, kind, root, given, receiver))
        engine = engines.connect(postgres.url, name="chaos", pool_size=5)
        ending.callback(engine.dispose)
        user = environment_for(root / "user", {"HEADWAY_DATABASE_URL": _user(postgres.url)})
        scene = Scene(root, postgres, engine, Fleet(_CLOCK, services), relays, receiver, user)
        ending.callback(scene.fleet.stop, 1.0)
        scene.fleet.start()
        until(lambda: _all_in_force(scene), "all DAGs in force", _UP_WITHIN)
        grant = [sys.executable, "-m", "headway.cli", "connections", "grant", "receiver", LATE]
        subprocess.run(grant, env=dict(user), check=True, capture_output=True)
        yield scene


def _all_in_force(scene: Scene) -> bool:
    scene.fleet.keep()
    return bool(scene.scalar(ACTIVE) == len(DAGS) + 2)


def _ports(kind: str) -> list[str]:
    """Return the settings of services of a kind that are ports."""
    return [port_setting(kind), *(["HEADWAY_API_PORT"] if kind == "api" else [])]


def _service(
    name: str, kind: str, root: Path, own: Mapping[str, str], receiver: Receiver
) -> Service:
    home = root / name
    home.mkdir()
    given = {
        **SETTINGS,
        "HEADWAY_CONN_RECEIVER": f"webhook://http://127.0.0.1:{receiver.server_port}",
        "HEADWAY_PARSER_DAGS": str(root / "dags"),
        **own,
    }
    return Service(name, kind, environment_for(home, given), root / f"{name}.log")


def _user(url: str) -> str:
    return logins.address(url, Login.USER)


def _all_series(scene: Scene, options: Options) -> list[FaultSeries]:
    """Return the series for workers and the one for all else: both go on side by side."""
    timer = Timer(_CLOCK)
    chances = [Random(f"{options.seed} {each}") for each in ("workers", "others")]
    return [
        FaultSeries(timer, chances[0], faults.of_workers(scene, timer, chances[0], options.stall)),
        FaultSeries(
            timer, chances[1], faults.of_others(scene, timer, chances[1], _CLOCK, options.skew)
        ),
    ]


def _harm(scene: Scene, all_series: list[FaultSeries], watch: Watch, seconds: float) -> None:
    """Do harm for so long, and finish the faults that are in progress then."""
    end = _CLOCK.monotonic() + seconds
    while _CLOCK.monotonic() < end or any(series.busy for series in all_series):
        for series in all_series:
            if _CLOCK.monotonic() < end:
                series.step()
            else:
                series.finish()
        _go_on(scene, watch)


def _come_to_rest(scene: Scene, watch: Watch) -> bool:
    """Wait until all runs have ended and all messages are sent; return whether they are."""

    def over() -> bool:
        return [scene.scalar(TO_DO), scene.scalar(deadlines.WAITING)] == [0, 0]

    return _until(over, scene, watch, _OVER_WITHIN)


def _until(seen: Callable[[], bool], scene: Scene, watch: Watch, seconds: float) -> bool:
    """Go on until that is seen, for so long at most; return whether it was."""
    end = _CLOCK.monotonic() + seconds
    while not seen():
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
