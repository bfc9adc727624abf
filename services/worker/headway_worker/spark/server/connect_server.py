"""The worker's own Spark Connect server: one warm driver that every attempt may use."""

import os
import secrets
import select
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from threading import Event, Lock
from typing import IO, TYPE_CHECKING, Final, Self

from headway.domain.errors import EmbeddedError
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.forker import Child, ChildLimits, ChildSpec, Forker, ForkerError
from headway.runtime.masking import Masker
from headway_worker.spark.server.identity import identity_of
from headway_worker.spark.server.server_command import LOGGING, server_command, server_environment
from headway_worker.spark.server.server_log import ServerLog, follow
from headway_worker.spark.server.udf_processes import marked_python
from headway_worker.spark.target.endpoint import ConnectEndpoint
from headway_worker.spark.target.installation import TOKEN_VARIABLE

if TYPE_CHECKING:  # attempts do without what it imports
    from headway.runtime.settings.worker import WorkerSettings

_FOLDERS: Final = ("events", "local", "python", "tmp", "warehouse")
_POLL: Final = 0.02
_BECOME: Final = "headway.runtime.forker.program:become"
_BEGIN_SECONDS: Final = 10.0
"""Seconds that the process of a server may take to begin."""

_KILL_SECONDS: Final = 5.0
"""Seconds for the nanny to kill a server's processes; then its fork server is ended with all."""

_LINES_SHOWN: Final = 15
_LAST_WORDS: Final = 2.0
"""Seconds that the log of a server which has ended may take to be whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How to start the server.  `scratch` is a folder of its own, for all that it writes.

    `master` is where its jobs run: here, or on a cluster.
    `environment` is what the driver, and with it user code in UDFs, may see.  `conf`
    wins over the settings made here, except those of the binding.
    """

    java_home: Path
    scratch: Path
    environment: Mapping[str, str]
    master: str = "local[2]"
    driver_memory: str = "1g"
    java_options: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, given: "WorkerSettings", java_home: Path, scratch: Path, environment: Mapping[str, str]
    ) -> Self:
        """Return what the settings of a worker say of its own Spark."""
        return cls(
            java_home=java_home,
            scratch=scratch,
            environment=environment,
            master=given.spark_master,
            driver_memory=given.spark_driver_memory,
            java_options=tuple(given.spark_java_options.split()),
            conf=given.spark_conf,
        )

    @property
    def log(self) -> Path:
        """The file that takes the newest of the server's output."""
        return self.scratch / "server.log"

    @property
    def logging(self) -> Path:
        """The file that tells the server what to log."""
        return self.scratch / "log4j2.properties"


class ConnectServer:
    """A Spark Connect server on this machine, a process that dies with this one.

    It is the child of a fork server of its own, which is there for nothing else: no process that it
    starts outlives it, and its nanny kills it at the moment that `hold_until` has named last,
    also while this process is stopped.  It has a session of its own, so a Ctrl-C in the terminal
    does not take it from under the attempts.  Threads may share a server.
    """

    @classmethod
    def start(cls, settings: ServerSettings, clock: Clock | None = None) -> "ConnectServer":
        """Start a server without waiting for it; EmbeddedError if that is impossible."""
        try:
            return cls(settings, clock or SystemClock())
        except (OSError, ForkerError) as error:
            raise EmbeddedError(f"Cannot start the Spark Connect server: {error}.") from error

    def __init__(self, settings: ServerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._token = secrets.token_urlsafe(32)
        self._log = ServerLog(settings.log)
        self._log.masker.prepare(self._token)
        settings.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in _FOLDERS:
            (settings.scratch / folder).mkdir(exist_ok=True)
        settings.logging.write_text(LOGGING)
        self._lock = Lock()
        self._forker = Forker.start((), settings.environment)
        try:
            self._child, output = self._spawn()
            self._pid = _pid_of(self._child)
        except BaseException:
            self._forker.close()
            raise
        self._reader = follow(output, self._log, self.is_alive)
        self._identity = identity_of(self._pid)

    @property
    def port(self) -> int | None:
        """The port that the server listens on; None while it has not said so."""
        return self._log.port

    @property
    def identity(self) -> str:
        """Tell this process from any other, on whatever machine: its boot, pid and start."""
        return self._identity

    @property
    def scratch(self) -> Path:
        """The folder that holds all that the server writes."""
        return self._settings.scratch

    @property
    def pid(self) -> int:
        """The process id of the server's Java virtual machine."""
        return self._pid

    @property
    def endpoint(self) -> ConnectEndpoint | None:
        """Where the server listens; None while it is still starting.

        EmbeddedError, with the end of its log, once the server has died.
        """
        if not self.is_alive():
            self._reader.join(_LAST_WORDS)
            how = "ended while it started" if self.port is None else "has died"
            raise EmbeddedError(self._explain(how))
        if self.port is None:
            return None
        # Clients refuse to send a token without TLS to any name but this one.
        url = f"sc://localhost:{self.port}"
        return ConnectEndpoint(url, self._token, process=self._identity)

    def wait_ready(self, seconds: float) -> ConnectEndpoint:
        """Wait until the server listens; EmbeddedError if it dies or needs longer."""
        deadline = self._clock.monotonic() + seconds
        never = Event()
        while (endpoint := self.endpoint) is None:
            if self._clock.monotonic() > deadline:
                raise EmbeddedError(self._explain(f"was not ready within {seconds:g} seconds"))
            self._clock.wait(never, _POLL)
        return endpoint

    def is_alive(self) -> bool:
        """Whether the server, or a process that it has started, runs."""
        with self._lock:
            return self._child.poll() is None

    def hold_until(self, moment: float) -> None:
        """Have the server killed at that moment of the machine's clock, and at no other."""
        with self._lock:
            self._child.hold_until(moment)

    def python_of(self, mark: str) -> str | None:
        """Return a program that runs UDFs with a mark, if executors are on this machine."""
        python = server_environment(self._settings)["PYSPARK_PYTHON"]
        is_here = self._settings.master.startswith("local")
        return marked_python(self.scratch / "python", python, mark) if is_here else None

    def mask(self, masker: Masker) -> None:
        """Hide the secrets that this masker has in the log, for as long as the server lives."""
        self._log.masker.adopt(masker)

    def kill(self) -> None:
        """Begin to end the server, and all that it has started, at once; wait for nothing."""
        with self._lock:
            self._child.kill()

    def stop(self, grace: float = 5.0) -> None:
        """End the server, and all that it has started, and wait until that is gone.

        It gets `grace` seconds to clean up.
        """
        with self._lock:
            self._child.stop(grace)
        deadline, never = self._clock.monotonic() + grace + _KILL_SECONDS, Event()
        while self.is_alive() and self._clock.monotonic() < deadline:
            self._clock.wait(never, _POLL)
        self._forker.close()
        with self._lock:
            self._child.poll()
            self._child.close()
        self._reader.join(_LAST_WORDS)

    def clear(self) -> None:
        """Remove what a server that has ended had written, but for its log."""
        for folder in _FOLDERS:
            shutil.rmtree(self.scratch / folder, ignore_errors=True)

    def _spawn(self) -> tuple[Child, IO[bytes]]:
        """Begin the server; return its process, and what that prints."""
        settings = self._settings
        environment = {**server_environment(settings), TOKEN_VARIABLE: self._token}
        spec = ChildSpec(
            target=_BECOME,
            argument={"command": server_command(settings), "environment": environment},
            directory=str(settings.scratch),
            limits=ChildLimits(until=inf),
        )
        reading, writing = os.pipe()
        output = os.fdopen(reading, "rb", buffering=0)
        try:
            return self._forker.spawn(spec, writing), output
        except BaseException:
            output.close()
            raise
        finally:
            os.close(writing)

    def _explain(self, what: str) -> str:
        lines = self._log.end.decode(errors="replace").splitlines()
        end = "\n".join(f"  {line}" for line in lines[-_LINES_SHOWN:])
        return (
            f"The Spark Connect server {what}; its log is {self._settings.log}. Check that this "
            f"machine has {self._settings.driver_memory} of memory to spare for it, and that its "
            f"folder can be written to. The log ends with:\n{end}"
        )


def _pid_of(child: Child) -> int:
    """Return the process id of a child that has just been started; ForkerError if it has none."""
    events = select.poll()
    events.register(child, select.POLLIN)
    while child.poll() is None and child.pid is None:
        if not events.poll(_BEGIN_SECONDS * 1000):
            raise ForkerError(f"its process has not begun within {_BEGIN_SECONDS:g} s")
    if child.pid is None:
        raise ForkerError(f"its process has not begun: {child.exit and child.exit.lost}")
    return child.pid
