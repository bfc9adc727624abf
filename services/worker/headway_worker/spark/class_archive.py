"""An archive of the Java classes that Spark loads, which makes the server start in half the time.

A Java virtual machine spends most of Spark's start on reading and checking classes;
it can map them from a file instead.  Java compares the file with itself and with
Spark's jars, and starts without it where they differ.
"""

import subprocess
from dataclasses import replace
from pathlib import Path

from headway.domain.errors import EmbeddedError
from headway.runtime.tether import tethered
from headway_worker.spark.server import (
    ConnectServer,
    ServerSettings,
    server_command,
    server_environment,
)

_START_SECONDS = 180.0


def build_class_archive(settings: ServerSettings) -> Path:
    """Make `settings.class_archive` and return it; it takes half a minute and 130 MB of disk.

    This starts a server in `settings.scratch`, which no other may be using.  Do it
    where an image is built, or while a worker is idle.
    """
    if settings.class_archive is None:
        raise ValueError("These settings name no class archive.")
    classes = settings.scratch / "classes.list"
    unfinished = settings.class_archive.with_suffix(".unfinished")
    listing = (f"-XX:DumpLoadedClassList={classes}",)
    dumping = (
        "-Xshare:dump",
        f"-XX:SharedClassListFile={classes}",
        f"-XX:SharedArchiveFile={unfinished}",
    )
    plain = replace(settings, class_archive=None)

    server = ConnectServer.start(replace(plain, java_options=settings.java_options + listing))
    try:
        server.wait_ready(_START_SECONDS)
    finally:
        server.stop()
    _dump(replace(plain, java_options=settings.java_options + dumping))
    return unfinished.replace(settings.class_archive)


def _dump(settings: ServerSettings) -> None:
    """Start the server once more: with these options Java writes the archive, then ends."""
    finished = subprocess.run(
        tethered(["nice", "-n", "19", *server_command(settings)]),
        env=server_environment(settings),
        cwd=settings.scratch,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if finished.returncode != 0:
        raise EmbeddedError(
            "Java could not make an archive of Spark's classes; the server starts without one, "
            f"only slower. It said: {finished.stderr[-500:] or finished.stdout[-500:]}"
        )
