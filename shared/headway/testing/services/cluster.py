"""Services one by one, as processes on a database of a test: each started, killed and replaced."""

import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, text

from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.runtime.forker import Service
from headway.testing.database import logins
from headway.testing.services.forks import start_service
from headway.testing.services.machine import stands_still
from headway.testing.services.stack import Services, environment_for
from headway.testing.time.clock import PATIENCE, until

PATIENT: Final = {"HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "60"}
"""On a machine that is busy with other things nobody is declared dead who is only late."""

_REGISTERED: Final = text("SELECT id FROM process WHERE kind = :kind AND pid = :pid")
_LOGIN_OF: Final = {
    "parser": Login.PARSER,
    "scheduler": Login.SCHEDULER,
    "worker": Login.WORKER,
    "api": Login.API,
}


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A service process that was started, and what it has logged."""

    name: str
    process: "Service | subprocess.Popen[bytes]" = field(repr=False)
    log: Path
    id: int
    """Its number in the database."""

    def logged(self) -> str:
        """Return what it has logged so far."""
        return self.log.read_text(errors="replace")

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Have it stand still for as long as the context lasts; what it has started goes on."""
        self.send(signal.SIGSTOP)
        until(lambda: stands_still(self.process.pid), f"{self.name} standing still")
        try:
            yield
        finally:
            self.send(signal.SIGCONT)


@dataclass(frozen=True, slots=True)
class ServiceCluster(Services):
    """Services that a test starts and ends; all that it has not ended must be alive."""

    urls: Mapping[str, str] = field(repr=False)
    members: list[ClusterMember] = field(default_factory=list)

    def check_alive(self) -> None:
        """Fail if a service has ended that was to run on."""
        ended = [member.name for member in self.members if member.process.poll() is not None]
        assert not ended, f"These have ended: {ended}.\n{self.service_logs()}"

    def start(
        self, kind: str, number: int = 1, given: Mapping[str, str] | None = None
    ) -> ClusterMember:
        """Start a service of that kind, with these settings besides the cluster's; wait for it."""
        return self.arrived(self.launch(kind, number, given))

    def launch(
        self, kind: str, number: int = 1, given: Mapping[str, str] | None = None
    ) -> ClusterMember:
        """Start a service of that kind, and do not wait until the database knows it."""
        name = f"{kind}-{number}"
        log = self.home / "services" / f"{name}.log"
        own = {"HEADWAY_DATABASE_URL": self.urls[kind], **(given or {})}
        with log.open("ab") as out:
            process = start_service(kind, {**self.environment, **own}, self.home, out)
        starting = ClusterMember(name, process, log, 0)
        self.members.append(starting)
        return starting

    def arrived(self, starting: ClusterMember) -> ClusterMember:
        """Wait until the database knows a service that was launched."""
        name, pid = starting.name, starting.process.pid

        def registered(conn: Connection) -> int | None:
            parameters = {"kind": name.partition("-")[0], "pid": pid}
            found = conn.scalar(_REGISTERED, parameters)
            return None if found is None else int(found)

        member = replace(starting, id=self.until(registered, f"{name} registered"))
        self.members[self.members.index(starting)] = member
        return member

    def member(self, name: str) -> ClusterMember:
        """Return the one on duty that is called so: its kind and its number."""
        [found] = (member for member in self.members if member.name == name)
        return found

    def end(self, member: ClusterMember, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a service a signal that ends it, and return its exit status."""
        self.members.remove(member)
        member.send(number)
        return member.process.wait(PATIENCE)

    def dismiss(self, member: ClusterMember) -> int:
        """Wait until a service ends of its own accord, and return its exit status."""
        self.members.remove(member)
        return member.process.wait(PATIENCE)

    def end_all(self) -> None:
        """End what is on duty; each must do so in good order."""
        for member in self.members:
            member.send(signal.SIGTERM)
        statuses = {member.name: member.process.wait(PATIENCE) for member in self.members}
        self.members.clear()
        assert not any(statuses.values()), f"{statuses}\n{self.service_logs()}"

    def kill_all(self) -> None:
        """Kill what is on duty."""
        for member in self.members:
            member.process.kill()
            member.process.wait(PATIENCE)
        self.members.clear()


@contextmanager
def service_cluster(
    url: str, root: Path, given: Mapping[str, str] | None = None
) -> Iterator[ServiceCluster]:
    """Give a cluster without members, for the owner's database at `url` and the folder `root`/dags.

    The folder is the parsers' only where none of the settings names bundles.
    """
    home, dags = root / "home", root / "dags"
    (home / "services").mkdir(parents=True, exist_ok=True)
    dags.mkdir(exist_ok=True)
    folder = {} if "HEADWAY_PARSER_BUNDLES" in (given or {}) else {"HEADWAY_PARSER_DAGS": str(dags)}
    environment = environment_for(home, {**PATIENT, **folder, **(given or {})})
    environment["HEADWAY_DATABASE_URL"] = logins.address(url, Login.USER)
    urls = {kind: logins.address(url, login) for kind, login in _LOGIN_OF.items()}
    engine = engines.connect(url, name="test", pool_size=5)
    cluster = ServiceCluster(home, dags, environment, engine, urls)
    try:
        yield cluster
        cluster.end_all()
    finally:
        cluster.kill_all()
        engine.dispose()
