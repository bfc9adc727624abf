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

from headway.cli.input.session import api_at_file, api_url_file, url_file
from headway.cli.launch import service_program
from headway.cli.launch.api_address import ApiAddress
from headway.db.access.logins import Login
from headway.domain.errors import EmbeddedError
from headway.embedded.postgres import PostgresServer
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.forker import Prefork, ServiceOrder
from headway.runtime.processes.linux import become_undumpable
from headway.runtime.processes.services import Launch, ServiceGroup, ServiceProcess, ServiceProgram
from headway.runtime.settings import configuration, secret_keys
from headway.runtime.settings.api import ApiSettings
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
    ApiSettings: {"load_at_first_request": True},
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
    "api": Login.API,
}
_LOGINS: Final = (*_LOGIN_OF.values(), Login.USER, Login.READONLY)


@dataclass(slots=True)
class LocalStack:
    """What runs: the database, as its users reach it, and the services.

    `link` is the path of a link of the API that signs `admin` in once; None without that account,
    and without the API.
    """

    url: str
    link: str | None
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
    home: Path,
    dags: Path,
    schedulers: int,
    port: int | None = None,
    front: Front = nothing,
    api: ApiAddress | None = None,
) -> Iterator[LocalStack]:
    """Run the services with their state under `home`; all of them have ended afterwards.

    The API is one of them if it has an address.
    """
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
                for program in _programs(environment, urls, schedulers, api):
                    children.start(program)
                own = _owner(environment, postgres.url, passwords)
                link = _migrate(prefork, own, with_link=api is not None)
            with (
                _address_known(url_file(home), urls[Login.USER]),
                _address_known(api_url_file(home), urls[Login.API]),
                _address_known(api_at_file(home), "" if api is None else api.url),
            ):
                yield LocalStack(urls[Login.USER], link, postgres, children)
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


def _owner(
    environment: Mapping[str, str], url: str, passwords: Mapping[Login, str]
) -> dict[str, str]:
    """Return the variables of who migrates, and gives each role its password of this start."""
    own = {**without_secrets(environment), "HEADWAY_DATABASE_URL": url}
    for login, password in passwords.items():
        own[variable(RoleSettings, f"{login.name}_password")] = password
    return own


def _migrate(prefork: Prefork, own: Mapping[str, str], *, with_link: bool) -> str | None:
    """Migrate; return the path of a link that signs `admin` in once, if one is to be made.

    This is done by a process of its own: what it takes to talk to a database is the most
    of what the launcher would hold in memory for as long as it runs.
    """
    command = service_program.MIGRATE_AND_LINK if with_link else service_program.MIGRATE
    reading, writing = os.pipe()
    with open(reading, errors="replace") as output:  # noqa: PTH123 - it has no path
        try:
            process = prefork.fork(ServiceOrder(_CALL, command, own), writing)
        finally:
            os.close(writing)
        said = output.read().removesuffix("\n")
    if process.wait() != 0:
        raise EmbeddedError(f"The database cannot be migrated. {said.strip()}")
    return (said.rpartition("\n")[2] or None) if with_link else None


def _programs(
    environment: Mapping[str, str],
    urls: Mapping[Login, str],
    schedulers: int,
    api: ApiAddress | None,
) -> Iterator[ServiceProgram]:
    reading = {"worker", *(["parser"] if configuration.read(ParserSettings).reads_secrets else [])}
    numbered = [f"scheduler-{number}" for number in range(1, schedulers + 1)]
    for name in ["parser", *numbered, "worker"]:
        service = name.partition("-")[0]
        known = environment if service in reading else without_secrets(environment)
        own = {**known, "HEADWAY_DATABASE_URL": urls[_LOGIN_OF[service]]}
        yield ServiceProgram(name, [service], own)
    if api is not None:
        yield _api(environment, urls, api)


def _api(
    environment: Mapping[str, str], urls: Mapping[Login, str], api: ApiAddress
) -> ServiceProgram:
    """Return the program of the API, which encrypts connections and variables, and reads none."""
    provided = tuple(secret_keys.PREFIXES.values())
    known = {name: text for name, text in environment.items() if not name.startswith(provided)}
    own = {
        "HEADWAY_DATABASE_URL": urls[Login.API],
        "HEADWAY_DATABASE_READONLY_URL": urls[Login.READONLY],
        "HEADWAY_DATABASE_READONLY_PASSWORD": "",  # it is in the address
        variable(ApiSettings, "port"): str(api.port),
    }
    return ServiceProgram("api", ["api"], {**known, **own})


@contextmanager
def _address_known(file: Path, url: str) -> Iterator[None]:
    file.unlink(missing_ok=True)  # who was let in to an old one would read the new one too
    file.touch(mode=0o600)
    file.write_text(url)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
