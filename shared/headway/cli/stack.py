"""All services on one machine, on an embedded Postgres."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from headway.cli.session import url_file
from headway.db import migrate
from headway.embedded.postgres import PostgresServer
from headway.runtime import settings
from headway.runtime.children import Children, Program
from headway.runtime.clock import SystemClock
from headway.runtime.settings import (
    ParserSettings,
    SchedulerSettings,
    Settings,
    WorkerSettings,
)

PATIENCE = 15.0
"""Seconds in which services must end when they are told to."""

LAPTOP: Final[Mapping[type[Settings], Mapping[str, object]]] = {
    ParserSettings: {},
    SchedulerSettings: {"lease_grace": 1, "scheduler_health_check_threshold": 10},
    WorkerSettings: {"drain_grace": 0, "kill_grace": 2, "lease_duration": 15},
}
"""Defaults for one machine, where nothing is far away; environment and file win over them."""


@dataclass(slots=True)
class Stack:
    """What runs: the database and the services."""

    url: str
    postgres: PostgresServer
    children: Children

    def check(self) -> None:
        """Start again what has died, and say so."""
        if not self.postgres.is_alive():
            _say("Postgres has died; it is started again.")
            self.postgres.start()
        for message in self.children.restart_dead():
            _say(message)


@contextmanager
def running(home: Path, dags: Path, schedulers: int, port: int | None = None) -> Iterator[Stack]:
    """Run the services with their state under `home`; all of them have ended afterwards."""
    environment = _environment(home, dags)
    settings.make_home(home)
    clock = SystemClock()
    children = Children(home / "services", clock)
    with PostgresServer(home / "postgres", port) as postgres:
        migrate.upgrade(postgres.url)
        environment["HEADWAY_DATABASE_URL"] = postgres.url
        with _address_known(home, postgres.url):
            try:
                for program in _programs(environment, schedulers):
                    children.start(program)
                yield Stack(postgres.url, postgres, children)
            finally:
                children.stop(PATIENCE)


def wait_for_interrupt(stack: Stack) -> None:
    """Look after the services until Ctrl-C."""
    clock, never = SystemClock(), Event()
    while True:
        stack.check()
        clock.wait(never, 0.5)


def _environment(home: Path, dags: Path) -> dict[str, str]:
    """Return the services' variables but for the database; SettingsError if they make no sense."""
    given = {**settings.environment(), "HEADWAY_HOME": str(home)}
    for kind, values in LAPTOP.items():
        given |= settings.defaults(kind, values)
    return {**given, "HEADWAY_PARSER_DAGS": str(dags.absolute())}


def _programs(environment: Mapping[str, str], schedulers: int) -> Iterator[Program]:
    yield _program("parser", "parser", environment)
    for number in range(1, schedulers + 1):
        yield _program(f"scheduler-{number}", "scheduler", environment)
    yield _program("worker", "worker", environment)


def _program(name: str, command: str, environment: Mapping[str, str]) -> Program:
    return Program(name, [sys.executable, "-m", "headway.cli", command], environment)


@contextmanager
def _address_known(home: Path, url: str) -> Iterator[None]:
    file = url_file(home)
    file.touch(mode=0o600)
    file.write_text(url)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
