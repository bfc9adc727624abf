"""The archive of Spark's classes is made, is used, and is nothing to rely on."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from headway.embedded.java import find_java_home
from headway_worker.spark.class_archive import build_class_archive
from headway_worker.spark.server import ConnectServer, ServerSettings

pytestmark = pytest.mark.spark
pytest.importorskip("pyspark")


def test_an_archive_serves_the_java_it_was_made_for_and_hinders_no_other(tmp_path: Path) -> None:
    settings = ServerSettings(
        java_home=find_java_home(None, os.environ, tmp_path),
        scratch=tmp_path / "spark",
        environment={"PATH": os.environ["PATH"]},
        java_options=("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        class_archive=tmp_path / "classes.jsa",
    )

    archive = build_class_archive(settings)

    assert archive == settings.class_archive
    assert maps(settings, archive)
    archive.chmod(0o600)
    archive.write_bytes(b"spoilt")
    assert not maps(settings, archive)


def maps(settings: ServerSettings, archive: Path) -> bool:
    """Start a server; tell whether its classes come from the archive."""
    server = ConnectServer.start(replace(settings))
    try:
        server.wait_ready(120)
        return str(archive) in Path(f"/proc/{server.pid}/maps").read_text()
    finally:
        server.stop()
