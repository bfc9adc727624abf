"""Where Spark is installed, and the environment that its programs start in."""

import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headway.domain.errors import EmbeddedError

TOKEN_VARIABLE: Final = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - its name

# These say that the process is a client of a Connect server; a driver must not inherit them.
CLIENT_VARIABLES: Final = (
    "SPARK_CONNECT_MODE_ENABLED",
    "SPARK_LOCAL_REMOTE",
    "SPARK_REMOTE",
    TOKEN_VARIABLE,
)

# spark-submit starts a first Java only to learn the command line of the second.
_LAUNCHER_OPTIONS: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


def spark_home() -> Path:
    """Return the folder of the Spark that came with pyspark; EmbeddedError without one."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise EmbeddedError("PySpark is not installed; run `pip install 'headway[spark]'`.")
    return Path(spec.origin).parent


def driver_environment(java_home: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment in which spark-submit starts a driver.

    What `environment` says about Spark and Python comes first; its Java does not.
    """
    inherited = {key: value for key, value in environment.items() if key not in CLIENT_VARIABLES}
    defaults = {"PYSPARK_PYTHON": sys.executable, "SPARK_LAUNCHER_OPTS": _LAUNCHER_OPTIONS}
    return {**defaults, **inherited, "JAVA_HOME": str(java_home)}
