"""The worker's own Spark Connect server: one warm driver that every attempt may use."""

import os
import re
import secrets
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Final

from headway.domain.errors import EmbeddedError
from headway.runtime.clock import Clock, SystemClock
from headway.runtime.tether import tethered
from headway_worker.spark.endpoint import ConnectEndpoint
from headway_worker.spark.installation import TOKEN_VARIABLE, driver_environment, spark_home

_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
_READY: Final = re.compile(rb"Spark Connect server started at: \S*:(\d+)")
_POLL: Final = 0.02
_LINES_SHOWN: Final = 15


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How to start the server.  `scratch` is a folder of its own, for all that it writes.

    `environment` is what the driver, and with it user code in UDFs, may see.  `conf`
    wins over the settings made here, except those of the binding.
    """

    java_home: Path
    scratch: Path
    environment: Mapping[str, str]
    cores: int = 2
    driver_memory: str = "1g"
    java_options: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)

    @property
    def log(self) -> Path:
        """The file that takes the server's output."""
        return self.scratch / "server.log"


class ConnectServer:
    """A Spark Connect server on this machine, a process that dies with this one.

    Start it in the main thread, or in one that lives as long as the server shall:
    the kernel kills it with the *thread* that started it.  It has a process group
    of its own, so a Ctrl-C in the terminal does not take it from under the attempts.
    """

    @classmethod
    def start(cls, settings: ServerSettings, clock: Clock | None = None) -> "ConnectServer":
        """Start a server without waiting for it; EmbeddedError if that is impossible."""
        return cls(settings, clock or SystemClock())

    def __init__(self, settings: ServerSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._token = secrets.token_urlsafe(32)
        self._port: int | None = None
        for folder in ("local", "tmp", "warehouse"):
            (settings.scratch / folder).mkdir(parents=True, exist_ok=True)
        with settings.log.open("ab") as log:
            self._log_start = log.tell()
            self._process = self._spawn(log.fileno())

    @property
    def pid(self) -> int:
        """The process id of the server's Java virtual machine."""
        return self._process.pid

    @property
    def endpoint(self) -> ConnectEndpoint | None:
        """Where the server listens; None while it is still starting.

        EmbeddedError, with the end of its log, once the server has died.
        """
        if self._port is None:
            alive = self.is_alive()
            found = _READY.search(self._output())
            self._port = int(found[1]) if found else None
            if self._port is None and not alive:
                raise EmbeddedError(self._explain("ended while it started"))
        if not self.is_alive():
            raise EmbeddedError(self._explain("has died"))
        if self._port is None:
            return None
        # Clients refuse to send a token without TLS to any name but this one.
        return ConnectEndpoint(f"sc://localhost:{self._port}", self._token)

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
        """Whether the process runs."""
        return self._process.poll() is None

    def stop(self, grace: float = 5.0) -> None:
        """End the server and wait until it is gone; it gets `grace` seconds to clean up."""
        self._signal(signal.SIGTERM)
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self._signal(signal.SIGKILL)
            self._process.wait()

    def _spawn(self, log: int) -> "subprocess.Popen[bytes]":
        settings = self._settings
        command = server_command(settings)
        try:
            return subprocess.Popen(
                tethered(command, on_death=signal.SIGKILL),
                env={**server_environment(settings), TOKEN_VARIABLE: self._token},
                cwd=settings.scratch,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise EmbeddedError(f"Cannot start the Spark Connect server: {error}.") from error

    def _signal(self, number: signal.Signals) -> None:
        if self.is_alive():
            os.killpg(self._process.pid, number)

    def _output(self) -> bytes:
        with self._settings.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read()

    def _explain(self, what: str) -> str:
        lines = self._output().decode(errors="replace").splitlines()
        end = "\n".join(f"  {line}" for line in lines[-_LINES_SHOWN:])
        return (
            f"The Spark Connect server {what}; its log is {self._settings.log}. Check that this "
            f"machine has {self._settings.driver_memory} of memory to spare for it, and that its "
            f"folder can be written to. The log ends with:\n{end}"
        )


def server_environment(settings: ServerSettings) -> dict[str, str]:
    """Return the environment of a server, but for the token."""
    # Client and server must be of one version, so the server is always pyspark's own.
    own = {"SPARK_HOME": str(spark_home()), "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**driver_environment(settings.java_home, settings.environment), **own}


def server_command(settings: ServerSettings) -> list[str]:
    """Return the command line of a server; it holds no secret."""
    scratch = settings.scratch
    options = ["-Djava.io.tmpdir=" + str(scratch / "tmp"), *settings.java_options]
    conf = {
        "spark.connect.progress.reportInterval": "200ms",
        "spark.driver.defaultJavaOptions": " ".join(f'"{option}"' for option in options),
        "spark.local.dir": str(scratch / "local"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        **settings.conf,
        "spark.connect.grpc.binding.address": "127.0.0.1",
        # The server chooses a free port and logs it: one chosen here could be lost to another.
        "spark.connect.grpc.binding.port": "0",
    }
    command = [str(spark_home() / "bin" / "spark-submit"), "--class", _CLASS]
    command += ["--name", "headway", "--master", f"local[{settings.cores}]"]
    command += ["--driver-memory", settings.driver_memory]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    return command
