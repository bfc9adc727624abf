"""User code in UDFs: Spark's Python processes get the bundle's modules as an artifact."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from zipfile import ZipFile, ZipInfo, is_zipfile

from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import SparkSession
from pyspark.sql.connect.session import SparkSession as ConnectSession

from headway.sdk.modules import PREFIX

ARCHIVE: Final = "bundle.zip"


def send_bundle(spark: SparkSession | ConnectSession, bundle_root: Path, scratch: Path) -> None:
    """Let functions of a session import what its DAG file may import from the bundle.

    The Python processes of such a session are its own, so another one may have another
    version.  The DAG file itself goes by a name that nobody else has: its functions travel
    as code.  A bundle that has no other module is not sent.
    """
    _register_dag_files()
    modules = dict(_modules(bundle_root.resolve()))
    if not modules:
        return
    scratch.mkdir(parents=True, exist_ok=True)
    archive = scratch / ARCHIVE
    with ZipFile(archive, "w") as writer:
        for name, content in sorted(modules.items()):
            writer.writestr(ZipInfo(name), content)
    if isinstance(spark, SparkSession):
        spark.sparkContext.addPyFile(str(archive))
    else:
        spark.addArtifacts(str(archive), pyfile=True)


def _register_dag_files() -> None:
    for name in _dag_files():
        register_pickle_by_value(sys.modules[name])


def _modules(root: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the bundle's modules by the paths under which they are imported.

    Of two of a name the last counts: it is what comes first on `sys.path`.
    """
    for place in (Path(entry).resolve() for entry in reversed(sys.path) if entry):
        if place.is_relative_to(root):
            yield from _in_folder(place) if place.is_dir() else _in_package(place)


def _in_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    loaded = {getattr(sys.modules[name], "__file__", "") for name in _dag_files()}
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder)
        if str(path) not in loaded and not any(part[0] == "." for part in inside.parts):
            yield inside.as_posix(), path.read_bytes()


def _in_package(package: Path) -> Iterator[tuple[str, bytes]]:
    if is_zipfile(package):
        with ZipFile(package) as opened:
            for entry in opened.infolist():
                if entry.filename.endswith(".py"):
                    yield entry.filename, opened.read(entry)


def _dag_files() -> list[str]:
    return [name for name in sys.modules if name.startswith(PREFIX)]
