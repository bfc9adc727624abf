"""Run spark-submit as a child of the attempt, and find out which application it became."""

import os
import select
import signal
import subprocess
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Final
from uuid import uuid4

from headway.domain.spark_work import CLUSTER, Handle, OnHandle
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.processes.starting import uninterrupted
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.submit_command import (
    build_command,
    event_log_id,
    is_chatter,
    logged_id,
    named_in,
    new_tag,
    properties,
    render_properties,
    watched,
)
from headway_worker.spark.figures.event_log import FOLDER, EventLog, EventLogTally
from headway_worker.spark.figures.rest import Announcement
from headway_worker.spark.figures.watch import ALL, DriverWatch, DriverWatcher
from headway_worker.spark.target.authentication import authenticated
from headway_worker.spark.target.connection import SparkConnection
from headway_worker.spark.target.errors import OF_THE_TASK, SparkError, for_memory, how_it_ended
from headway_worker.spark.target.installation import driver_environment, spark_home

_LINES_SHOWN: Final = 20
_LEVEL: Final = "spark.log.level"
_LEFT_OUT: Final = (
    "[headway] {} lines that Spark logged at INFO are left out; "
    f"conf={{{{'{_LEVEL}': 'INFO'}}}} keeps them.\n"
)
_LONGEST_LINE: Final = 64 * 2**10
_LOOK_SECONDS: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitSettings:
    """Where applications are submitted to.  `scratch` is a folder of the attempt's own.

    `environment` is what the driver may see.  The Spark is that of the connection, else
    of a SPARK_HOME in `environment`, else pyspark's own.  `title` names an application that
    says no name of its own.
    """

    java_home: Path
    scratch: Path
    environment: Mapping[str, str]
    connection: SparkConnection
    master: str = "local[2]"
    title: str = "headway"

    @property
    def home(self) -> Path:
        """The folder of the Spark whose programs are run."""
        named = self.connection.spark_home or self.environment.get("SPARK_HOME")
        return Path(named or spark_home())

    def spark_defaults(self) -> str:
        """Return the text of the spark-defaults.conf that spark-submit reads; empty without one."""
        folder = self.environment.get("SPARK_CONF_DIR") or self.home / "conf"
        file = Path(folder) / "spark-defaults.conf"
        return file.read_text(errors="replace") if file.is_file() else ""

    def of_programs(self) -> dict[str, str]:
        """Return the environment of Spark's programs."""
        environment = driver_environment(self.java_home, self.environment)
        return {**environment, "SPARK_HOME": str(self.home)}

    def defaults(self) -> frozenset[str]:
        """Return the names of the properties that Spark's own configuration sets."""
        folder = self.environment.get("SPARK_CONF_DIR") or self.home / "conf"
        try:
            return named_in((Path(folder) / "spark-defaults.conf").read_text(errors="replace"))
        except OSError:
            return frozenset()


@dataclass(frozen=True, slots=True)
class Submitted:
    """How spark-submit ended: its exit code, as Popen has it, and its last lines that matter."""

    code: int
    last: Sequence[str]
    handle: Handle

    def failure(self, application: SparkApplication) -> str:
        """Return what to tell of a code that is not 0."""
        how = how_it_ended(self.code)
        memory = for_memory(OF_THE_TASK, self.code, "\n".join(self.last))
        head = f"spark-submit of {application.application} {how}.{memory} Its output ends with:"
        return "\n".join([head, *(f"  {line}" for line in self.last)])


@dataclass(frozen=True, slots=True)
class Submission:
    """Runs of spark-submit for an attempt.

    `on_handle` is told that an application is about to be submitted, and once more
    as soon as its id is known.  What the driver prints is copied to `output`.  A driver on
    this machine is watched, once it has logged the address of its web interface.
    """

    settings: SubmitSettings
    attempt_key: str
    on_handle: OnHandle
    output: IO[bytes]
    watcher: DriverWatcher = field(default_factory=DriverWatcher)

    def run(self, application: SparkApplication) -> None:
        """Submit the application and wait until it has ended; SparkError unless it succeeds.

        The driver is a child of this process, and dies with it.
        """
        tag = new_tag(self.attempt_key, uuid4().hex[:12])
        ended = self.submit(application, {"kind": "submit", "tag": tag})
        if ended.code != 0:
            raise SparkError(ended.failure(application))

    def submit(self, application: SparkApplication, handle: Handle) -> Submitted:
        """Run spark-submit for the application that `handle` is of, and return how it ended."""
        command = self._prepare(application, handle["tag"])
        self.on_handle(handle)
        with (
            closing(
                DriverWatch(self.watcher, EventLog(self.settings.scratch, EventLogTally(ALL)))
            ) as watch,
            ExitStack() as ending,
        ):
            with uninterrupted():
                process = ending.enter_context(self._start(command, application))
                ending.callback(process.kill)  # which one that has ended does not notice
            return self._follow(process, handle, watch, quiet=_LEVEL not in application.conf)

    @property
    def _events(self) -> Path:
        return self.settings.scratch / FOLDER

    def _prepare(self, application: SparkApplication, tag: str) -> list[str]:
        settings = self.settings
        file = settings.scratch / "spark.properties"
        application = replace(application, name=application.name or settings.title)
        command = build_command(application, settings.home, settings.master, file)
        given = properties(application, self.attempt_key, tag, settings.master)
        self._events.mkdir(mode=0o700, parents=True, exist_ok=True)
        if application.deploy_mode != CLUSTER:
            given = watched(given, settings.defaults(), settings.scratch)
            given = authenticated(given, settings.defaults(), settings.master)
        write_properties(file, given)
        return command

    def _start(
        self, command: Sequence[str], application: SparkApplication
    ) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            dies_with_parent(command, on_death=signal.SIGKILL),
            env=self._environment(application),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def _environment(self, application: SparkApplication) -> dict[str, str]:
        settings = self.settings
        environment = settings.of_programs()
        if settings.master.startswith("local"):
            environment["SPARK_LOCAL_IP"] = "127.0.0.1"
            environment.setdefault("SPARK_LOCAL_DIRS", str(settings.scratch / "local"))
        if application.deploy_mode != "cluster":
            environment |= application.env_vars
        return environment

    def _follow(
        self, process: "subprocess.Popen[bytes]", handle: Handle, watch: DriverWatch, *, quiet: bool
    ) -> Submitted:
        """Copy what the driver prints until it has ended; if `quiet`, without Spark's chatter."""
        announcement = Announcement()
        known = frozenset(self._event_logs())
        last: deque[str] = deque(maxlen=_LINES_SHOWN)
        left_out = 0
        for line in _lines(process):
            text = line.decode(errors="replace").rstrip()
            chatter = is_chatter(text)
            if chatter and quiet:
                left_out += 1
            else:
                self._print(line)
            if text and not chatter:
                last.append(text)
            if address := announcement.hear(text):
                watch.begin(address)
            if "application_id" not in handle:
                found = logged_id(text) or self._new_event_log(known)
                if found is not None:
                    handle = {**handle, "application_id": found}
                    self.on_handle(handle)
        if left_out:
            self._print(_LEFT_OUT.format(left_out).encode())
        return Submitted(process.wait(), tuple(last), handle)

    def _print(self, line: bytes) -> None:
        self.output.write(line)
        self.output.flush()

    def _event_logs(self) -> list[str]:
        return [path.name for path in self._events.iterdir()]

    def _new_event_log(self, known: frozenset[str]) -> str | None:
        new = (event_log_id(name) for name in self._event_logs() if name not in known)
        return next(new, None)


def write_properties(file: Path, given: Mapping[str, str]) -> Path:
    """Write a file of Spark's properties that nobody else may read, and return it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o600)
    file.write_text(render_properties(given))
    return file


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
