"""A stand-alone Spark cluster for tests: a master and a worker, as processes of this one."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from signal import SIGKILL
from typing import Any, Final
from urllib.request import urlopen

from headway.embedded.java import find_java_home
from headway.runtime.processes.parent_death import dies_with_parent
from headway.testing.processes.environment import path_and_home
from headway.testing.time.clock import until

_MASTER: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_WEB: Final = re.compile(r"Bound MasterWebUI to \S+, and started at http://[^:]+:(\d+)")
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_PATIENCE: Final = 120.0


@dataclass(frozen=True, slots=True)
class SparkCluster:
    """A cluster of two cores.  `java_home` and `home` are what it runs on."""

    master: str
    web_port: int
    java_home: Path
    home: Path
    scratch: Path

    def state(self) -> dict[str, Any]:
        """Return what the master tells of itself, its workers and applications."""
        with urlopen(f"http://127.0.0.1:{self.web_port}/json/") as answer:
            found: dict[str, Any] = json.load(answer)
        return found

    def active(self) -> list[str]:
        """Return the ids of the applications that have not ended."""
        return [app["id"] for app in self.state()["activeapps"]]

    def ended(self) -> Mapping[str, str]:
        """Return how applications have ended, by id."""
        return {app["id"]: app["state"] for app in self.state()["completedapps"]}

    def executors(self) -> list[int]:
        """Return the process ids of all executors."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if b"CoarseGrainedExecutorBackend" in command and self.master_address in command:
                found.append(int(process.name))
        return found

    def kill_an_executor(self) -> int:
        """Kill an executor, as a machine that is lost would, and return its process id."""
        pid = until(self.executors, "an executor", _PATIENCE)[0]
        os.kill(pid, SIGKILL)
        return pid

    @property
    def master_address(self) -> bytes:
        """What the command line of an executor has of this cluster."""
        return str(self.scratch).encode()

    @property
    def conf(self) -> dict[str, str]:
        """Properties for a driver on this machine that is to start quickly."""
        return {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.extraJavaOptions": _QUICK,
            "spark.executor.extraJavaOptions": f"{_QUICK} -Dheadway.cluster={self.scratch}",
            "spark.executor.memory": "512m",
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "2",
        }


@contextmanager
def spark_cluster(scratch: Path) -> Iterator[SparkCluster]:
    """Run a master and a worker of two cores, below `scratch`; both have ended afterwards."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    java_home = find_java_home(None, os.environ, scratch)  # noqa: TID251 - for tests only
    with ExitStack() as ending:
        program = _Programs(home, java_home, scratch, ending)
        said = program.start("master.Master", "--port", "0", "--webui-port", "0")
        master = until(lambda: _MASTER.search(said.read_text()), "a Spark master", _PATIENCE)[1]
        web = until(lambda: _WEB.search(said.read_text()), "its web interface", _PATIENCE)[1]
        cluster = SparkCluster(master, int(web), java_home, home, scratch)
        options = ("--port", "0", "--webui-port", "0", "--cores", "2", "--memory", "2g")
        program.start("worker.Worker", *options, "-d", str(scratch / "work"), master)
        until(lambda: cluster.state()["aliveworkers"] == 1, "a Spark worker", _PATIENCE)
        yield cluster


@dataclass(frozen=True, slots=True)
class _Programs:
    home: Path
    java_home: Path
    scratch: Path
    ending: ExitStack

    def start(self, name: str, *options: str) -> Path:
        """Start a daemon of Spark's, and return the file that takes what it says."""
        said = self.scratch / f"{name}.log"
        inherited = path_and_home()
        environment = {
            **inherited,
            "JAVA_HOME": str(self.java_home),
            "SPARK_HOME": str(self.home),
            "SPARK_DAEMON_JAVA_OPTS": _QUICK,
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_NO_DAEMONIZE": "1",
        }
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}"]
        with said.open("wb") as output:
            process = subprocess.Popen(
                dies_with_parent([*command, "--host", "127.0.0.1", *options], on_death=SIGKILL),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.scratch,
            )
        self.ending.callback(process.wait)
        self.ending.callback(process.kill)
        return said
