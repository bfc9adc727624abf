"""All services on one machine, on an embedded Postgres."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from headway.cli.session import url_file
from headway.db import migrate
from headway.embedded.postgres import PostgresServer
from headway.runtime import settings
from headway.runtime.children import Children, Program
from headway.runtime.clock import SystemClock

PATIENCE = 15.0
"""Seconds in which services must end when they are told to."""

LAPTOP = {
    "HEADWAY_WORKER_DRAIN_GRACE": "0",
    "HEADWAY_WORKER_KILL_GRACE": "2",
    "HEADWAY_WORKER_LEASE_DURATION": "10",
    "HEADWAY_SCHEDULER_LEASE_GRACE": "1",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "8",
}
"""Settings for one machine, where nothing is far away; the environment wins over them."""


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
    home.mkdir(parents=True, exist_ok=True)
    clock = SystemClock()
    children = Children(home / "services", clock)
    with PostgresServer(home / "postgres", port) as postgres:
        migrate.upgrade(postgres.url)
        with _address_known(home, postgres.url):
            try:
                for program in _programs(home, dags, postgres.url, schedulers):
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


def _programs(home: Path, dags: Path, url: str, schedulers: int) -> Iterator[Program]:
    environment = {
        **LAPTOP,
        **settings.environment(),
        "HEADWAY_HOME": str(home),
        "HEADWAY_DATABASE_URL": url,
        "HEADWAY_PARSER_DAGS": str(dags.absolute()),
    }
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
