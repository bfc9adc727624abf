"""Run spark-submit as a child of the attempt, and find out which application it became."""

import os
import select
import signal
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

from headway.runtime.tether import tethered
from headway.sdk.runtime import SparkApplication
from headway_worker.spark.errors import SparkError
from headway_worker.spark.handle import OnHandle
from headway_worker.spark.installation import driver_environment, spark_home
from headway_worker.spark.submit import (
    build_command,
    event_log_id,
    is_chatter,
    logged_id,
    properties,
    render_properties,
    with_event_log,
)

_LINES_SHOWN: Final = 20
_LONGEST_LINE: Final = 64 * 2**10
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitSettings:
    """Where applications are submitted to.  `scratch` is a folder of the attempt's own.

    `environment` is what the driver may see.  A SPARK_HOME in it chooses the Spark.
    """

    java_home: Path
    scratch: Path
    environment: Mapping[str, str]
    master: str = "local[2]"
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """One run of spark-submit for an attempt.

    `on_handle` is told that an application is about to be submitted, and once more
    as soon as its id is known.  What the driver prints is copied to `output`.
    """

    settings: SubmitSettings
    attempt_key: str
    on_handle: OnHandle
    output: IO[bytes]

    def run(self, application: SparkApplication) -> None:
        """Submit the application and wait until it has ended; SparkError unless it succeeds."""
        command = self._prepare(application)
        self.on_handle({"kind": "submit", "tag": self.attempt_key})
        with subprocess.Popen(
            tethered(command, on_death=signal.SIGKILL),
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            last = self._follow(process)
        if process.returncode != 0:
            raise SparkError(_failure(application, process.returncode, last))

    @property
    def _events(self) -> Path:
        return self.settings.scratch / "events"

    def _prepare(self, application: SparkApplication) -> list[str]:
        settings = self.settings
        home = Path(settings.environment.get("SPARK_HOME") or spark_home())
        file = settings.scratch / "spark.properties"
        command = build_command(application, home, settings.master, file)
        given = properties(application, self.attempt_key, settings.master, settings.conf)
        self._events.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
        file.write_text(render_properties(with_event_log(given, settings.master, self._events)))
        return command

    def _environment(self) -> dict[str, str]:
        settings = self.settings
        environment = driver_environment(settings.java_home, settings.environment)
        environment.setdefault("SPARK_HOME", str(spark_home()))
        if settings.master.startswith("local"):
            environment["SPARK_LOCAL_IP"] = "127.0.0.1"
            environment.setdefault("SPARK_LOCAL_DIRS", str(settings.scratch / "local"))
        return environment

    def _follow(self, process: "subprocess.Popen[bytes]") -> "deque[str]":
        """Copy what the driver prints until it has ended; return the last lines that matter."""
        known = frozenset(self._event_logs())
        found: str | None = None
        last: deque[str] = deque(maxlen=_LINES_SHOWN)
        for line in _lines(process):
            self.output.write(line)
            self.output.flush()
            text = line.decode(errors="replace").rstrip()
            if text and not is_chatter(text):
                last.append(text)
            if found is None and (found := logged_id(text) or self._new_event_log(known)):
                self.on_handle({"kind": "submit", "tag": self.attempt_key, "application_id": found})
        return last

    def _event_logs(self) -> list[str]:
        return [path.name for path in self._events.iterdir()]

    def _new_event_log(self, known: frozenset[str]) -> str | None:
        new = (event_log_id(name) for name in self._event_logs() if name not in known)
        return next(new, None)


def _lines(process: "subprocess.Popen[bytes]") -> Iterator[bytes]:
    """Yield each line as it comes; nothing, every now and then, while none does.

    This ends with the process, even where a child that it left behind keeps the pipe.
    """
    assert process.stdout is not None
    descriptor, buffer = process.stdout.fileno(), b""
    while True:
        ready, _, _ = select.select([descriptor], [], [], _LOOK_SECONDS)
        data = os.read(descriptor, _LONGEST_LINE) if ready else b""
        *lines, buffer = (buffer + data).splitlines(keepends=True) or [b""]
        is_over = (ready and not data) or (not ready and process.poll() is not None)
        if is_over or buffer.endswith(b"\n") or len(buffer) >= _LONGEST_LINE:
            lines, buffer = [*lines, buffer], b""
        yield from lines or [b""]
        if is_over:
            return


def _failure(application: SparkApplication, code: int, last: "deque[str]") -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"
    return "\n".join(
        [
            f"spark-submit of {application.application} {how}. Its output ends with:",
            *(f"  {line}" for line in last),
        ]
    )
