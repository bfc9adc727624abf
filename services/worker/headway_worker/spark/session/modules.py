"""User code in UDFs: Spark's Python processes get the bundle's modules as an artifact."""

import importlib
import sys
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final
from zipfile import ZipFile, ZipInfo

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import SparkSession
from pyspark.sql.connect.client.artifact import InMemory, new_pyfile_artifact
from pyspark.sql.connect.session import SparkSession as ConnectSession

from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.running.tracebacks import PREFIX

ARCHIVE: Final = "bundle.zip"


def send_bundle(spark: SparkSession | ConnectSession, code: BundleCode, scratch: Path) -> None:
    """Let functions of a session import what its DAG file may import from the bundle.

    The Python processes of such a session are its own, so another one may have another
    version.  The DAG file itself goes by a name that nobody else has: its functions travel
    as code.  A bundle that has no other module is not sent.
    """
    _register_dag_files()
    modules = dict(_modules(code))
    if not modules:
        return
    packed = BytesIO()
    with ZipFile(packed, "w") as writer:
        for name, content in sorted(modules.items()):
            writer.writestr(ZipInfo(name), content)
    if isinstance(spark, SparkSession):
        _send_to_driver(spark, packed.getvalue(), scratch)
    else:
        _send_to_server(spark, packed.getvalue())


def _send_to_server(spark: ConnectSession, packed: bytes) -> None:
    """Send the archive from memory; `addArtifacts` would read it from a file.

    It would also have this process import from that file.
    """
    manager = spark.client._artifact_manager  # noqa: SLF001 - it has no public way to send bytes
    artifact = new_pyfile_artifact(ARCHIVE, InMemory(packed))
    manager._request_add_artifacts(manager._add_artifacts([artifact]))  # noqa: SLF001
    importlib.invalidate_caches()


def _send_to_driver(spark: SparkSession, packed: bytes, scratch: Path) -> None:
    """Have the driver serve the archive, and not import from it in this process."""
    scratch.mkdir(parents=True, exist_ok=True)
    archive = scratch / ARCHIVE
    archive.write_bytes(packed)
    path = sys.path.copy()
    spark.sparkContext.addPyFile(str(archive))
    sys.path[:] = path


def _register_dag_files() -> None:
    for name in _dag_files():
        register_pickle_by_value(sys.modules[name])


def _modules(code: BundleCode) -> Iterator[tuple[str, bytes]]:
    """Yield the version's modules by the paths under which they are imported.

    Of two of a name the last counts: it is what comes first on `sys.path`.
    """
    loaded = {getattr(sys.modules[name], "__file__", "") for name in _dag_files()}
    names = sorted(
        name
        for name in code.names(others=False)
        if name.endswith(".py") and str(code.root / name) not in loaded and code.is_file(name)
    )
    for folder in (code.inside(entry) for entry in reversed(sys.path)):
        if folder is not None:
            begin = f"{folder}/" if folder else ""
            below = [(name.removeprefix(begin), name) for name in names if name.startswith(begin)]
            yield from ((inner, code.read(path)) for inner, path in below if _is_importable(inner))


def _is_importable(path: str) -> bool:
    """Whether a path below an entry of `sys.path` is a module's, and in no package there."""
    return not any(part[0] == "." or part.endswith(".zip") for part in path.split("/"))


def _dag_files() -> list[str]:
    return [name for name in sys.modules if name.startswith(PREFIX)]
