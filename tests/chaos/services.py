"""The services under chaos: each a process of its own, started again when it has ended."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import socket
from typing import Final

import psutil

from headway.runtime.daemon.clock import Clock
from headway.runtime.processes.parent_death import dies_with_parent

DECLARED_DEAD: Final = 3
"""The exit status of a service that others have declared dead."""

_AGAIN_AFTER: Final = 1.0
_FIRST_PORT: Final = 20_000
_CLIENTS_PORTS: Final = 32_768
"""The first port of those that Linux gives to clients."""

_FORKER: Final = "headway.runtime.forker"


def port_setting(kind: str) -> str:
    """Return the setting that is the HTTP port of services of a kind."""
    return f"HEADWAY_{kind.upper()}_HTTP_PORT"


def ports_to_keep() -> Iterator[int]:
    """Yield ports that nobody listens at, each once; the machine gives none of them to clients.

    A service that is started again needs the port that it had.
    """
    first = _FIRST_PORT + os.getpid() % 100 * 100
    for port in range(first, _CLIENTS_PORTS):
        if _is_free(port):
            yield port


@dataclass(slots=True)
class Service:
    """One service that is to run, and the process that it has now."""

    name: str
    kind: str
    environment: Mapping[str, str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    ended_at: float | None = None
    harmed: bool = False
    """Whether its process was killed, so that how it ends is no fault of its own."""
    python: str = sys.executable
    """The interpreter, which decides the release that the service is of."""

    @property
    def pid(self) -> int:
        """The process id; 0 if nothing runs now."""
        return self.process.pid if self.process and self.process.poll() is None else 0

    def logged(self) -> str:
        """Return what it has logged so far."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def lines(self) -> list[str]:
        """Return the lines that it has logged, each begins with its time."""
        return [line for line in self.logged().splitlines() if line[:2] == "20"]

    def start(self) -> None:
        """Start its process."""
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                dies_with_parent([self.python, "-m", "headway.cli", self.kind]),
                env=dict(self.environment),
                cwd=self.log.parent,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        self.ended_at, self.harmed = None, False

    def below(self) -> list[psutil.Process]:
        """Return all processes below its own."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).children(recursive=True) if self.pid else []
        return []

    def forkers(self) -> list[psutil.Process]:
        """Return its fork servers."""
        return [below for below in self.below() if _FORKER in _command_line(below)]


@dataclass(slots=True)
class Fleet:
    """All services; `keep` starts again what has ended."""

    clock: Clock
    services: list[Service]
    unexpected: list[str] = field(default_factory=list)
    """Services that ended although nobody had killed them or declared them dead."""

    def of(self, kind: str) -> list[Service]:
        """Return the services of a kind that run now."""
        return [service for service in self.services if service.kind == kind and service.pid]

    def start(self) -> None:
        """Start all."""
        for service in self.services:
            service.start()

    def keep(self) -> None:
        """Start what has ended a moment ago, as a platform does."""
        now = self.clock.monotonic()
        for service in self.services:
            if service.process is None or service.process.poll() is None:
                continue
            if service.ended_at is None:
                service.ended_at = now
                self._note(service, service.process.returncode)
            elif now - service.ended_at > _AGAIN_AFTER:
                service.start()

    def stop(self, patience: float) -> None:
        """Have all end in good order; note those that do not."""
        for service in self.services:
            if service.pid and service.process:
                service.process.terminate()
        for service in self.services:
            if service.process is None or service.ended_at is not None:
                continue
            try:
                self._note(service, service.process.wait(patience), stopped=True)
            except subprocess.TimeoutExpired:
                self.unexpected.append(f"{service.name} did not stop within {patience:g} s")
                service.process.kill()
                service.process.wait()

    def _note(self, service: Service, status: int, *, stopped: bool = False) -> None:
        allowed = {0, DECLARED_DEAD} if stopped else {DECLARED_DEAD}
        if not service.harmed and status not in allowed:
            self.unexpected.append(f"{service.name} ended with status {status}")


def _is_free(port: int) -> bool:
    with socket() as some:
        try:
            some.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _command_line(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""
