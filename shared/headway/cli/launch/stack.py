"""All services on one machine, on an embedded Postgres."""

import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Final

from headway.cli.input.session import url_file
from headway.cli.launch import service_program
from headway.db.access.logins import Login
from headway.domain.errors import EmbeddedError
from headway.embedded.postgres import PostgresServer
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import Prefork, ServiceOrder
from headway.runtime.processes.linux import become_undumpable
from headway.runtime.processes.services import Launch, ServiceGroup, ServiceProcess, ServiceProgram
from headway.runtime.settings import configuration, secret_keys
from headway.runtime.settings.configuration import Settings, variable
from headway.runtime.settings.database import RoleSettings
from headway.runtime.settings.parser import ParserSettings
from headway.runtime.settings.private_files import repair_modes
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.runtime.settings.secret_keys import without_secrets
from headway.runtime.settings.worker import WorkerSettings

PATIENCE = 15.0
"""Seconds in which services must end when they are told to."""

LAPTOP: Final[Mapping[type[Settings], Mapping[str, object]]] = {
    ParserSettings: {},
    SchedulerSettings: {"lease_grace": 1, "scheduler_health_check_threshold": 10},
    WorkerSettings: {"drain_grace": 0, "kill_grace": 2, "lease_duration": 15},
}
"""Defaults for one machine, where nothing is far away; environment and file win over them."""

_CALL: Final = "headway.cli.launch.service_program:main"
_SHARED: Final = ("headway.cli.launch.warm",)

_LOGIN_OF: Final = {
    "parser": Login.PARSER,
    "scheduler": Login.SCHEDULER,
    "worker": Login.WORKER,
}
_LOGINS: Final = (*_LOGIN_OF.values(), Login.USER)


@dataclass(slots=True)
class LocalStack:
    """What runs: the database, as its users reach it, and the services."""

    url: str
    postgres: PostgresServer
    children: ServiceGroup

    def check(self) -> None:
        """Start again what has died, and say so."""
        if not self.postgres.is_alive():
            _say("Postgres has died; it is started again.")
            self.postgres.start()
        for message in self.children.restart_dead():
            _say(message)


Front = Callable[[str], AbstractContextManager[Callable[[str], str]]]
"""What stands before the server at an address; it tells by which one a role goes through it."""


@contextmanager
def nothing(_url: str) -> Iterator[Callable[[str], str]]:
    """Have everyone connect to the server itself."""
    yield lambda url: url


@contextmanager
def running(
    home: Path, dags: Path, schedulers: int, port: int | None = None, front: Front = nothing
) -> Iterator[LocalStack]:
    """Run the services with their state under `home`; all of them have ended afterwards."""
    become_undumpable()
    environment = _environment(home, dags)
    secret_keys.check()
    repair_modes(configuration.make_home(home))
    with (
        Prefork(_SHARED, without_secrets(environment)) as prefork,
        PostgresServer(home / "postgres", port) as postgres,
        front(postgres.url) as through,
    ):
        children = ServiceGroup(_launch_from(prefork), home / "services", SystemClock())
        secret_keys.make_keys_file(home)  # where nobody else starts at the same time
        passwords = {login: secrets.token_urlsafe(24) for login in _LOGINS}
        urls = {login: through(postgres.address(login, passwords[login])) for login in passwords}
        try:
            with children.held():  # they read their modules while the database is migrated
                for program in _programs(environment, urls, schedulers):
                    children.start(program)
                _migrate(prefork, environment, postgres.url, passwords)
            with _address_known(home, urls[Login.USER]):
                yield LocalStack(urls[Login.USER], postgres, children)
        finally:
            children.stop(PATIENCE)


def wait_for_interrupt(stack: LocalStack) -> None:
    """Look after the services until Ctrl-C."""
    clock, never = SystemClock(), Event()
    while True:
        stack.check()
        clock.wait(never, 0.5)


def _environment(home: Path, dags: Path) -> dict[str, str]:
    """Return the services' variables but for the database; SettingsError if they make no sense."""
    given = {**configuration.environment(), "HEADWAY_HOME": str(home)}
    for kind, values in LAPTOP.items():
        given |= configuration.defaults(kind, values)
    return {**given, "HEADWAY_PARSER_DAGS": str(dags.absolute())}


def _launch_from(prefork: Prefork) -> Launch:
    def launch(program: ServiceProgram, output: int, gate: int | None) -> ServiceProcess:
        return prefork.fork(ServiceOrder(_CALL, program.command, program.environment), output, gate)

    return launch


def _migrate(
    prefork: Prefork, environment: Mapping[str, str], owner: str, passwords: Mapping[Login, str]
) -> None:
    """Migrate as the owner, and give each role its password of this start.

    This is done by a process of its own: what it takes to talk to a database is the most
    of what the launcher would hold in memory for as long as it runs.
    """
    own = {**without_secrets(environment), "HEADWAY_DATABASE_URL": owner}
    for login, password in passwords.items():
        own[variable(RoleSettings, f"{login.name}_password")] = password
    reading, writing = os.pipe()
    with open(reading, errors="replace") as output:  # noqa: PTH123 - it has no path
        try:
            process = prefork.fork(ServiceOrder(_CALL, service_program.MIGRATE, own), writing)
        finally:
            os.close(writing)
        said = output.read().strip()
    if process.wait() != 0:
        raise EmbeddedError(f"The database cannot be migrated. {said}")


def _programs(
    environment: Mapping[str, str], urls: Mapping[Login, str], schedulers: int
) -> Iterator[ServiceProgram]:
    numbered = [f"scheduler-{number}" for number in range(1, schedulers + 1)]
    for name in ["parser", *numbered, "worker"]:
        service = name.partition("-")[0]
        known = environment if service == "worker" else without_secrets(environment)
        own = {**known, "HEADWAY_DATABASE_URL": urls[_LOGIN_OF[service]]}
        yield ServiceProgram(name, [service], own)


@contextmanager
def _address_known(home: Path, url: str) -> Iterator[None]:
    file = url_file(home)
    file.unlink(missing_ok=True)  # who was let in to an old one would read the new one too
    file.touch(mode=0o600)
    file.write_text(url)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
