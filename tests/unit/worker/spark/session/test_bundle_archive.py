"""What of a bundle goes to Spark: the modules that its DAG file may import."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import pytest

pytest.importorskip("pyspark.sql.connect.session")

from pyspark.sql.connect.client.artifact import Artifact

from headway.testing.data.version_code import files_below, version_code
from headway_worker.spark.session.modules import send_bundle


class Session:
    """A session that remembers what it was sent; it is its own client and artifact manager."""

    def __init__(self) -> None:
        self.sent: dict[str, bytes] = {}
        self.client = self._artifact_manager = self

    def _add_artifacts(self, artifacts: list[Artifact]) -> list[Artifact]:
        return artifacts

    def _request_add_artifacts(self, requests: list[Artifact]) -> None:
        (artifact,) = requests
        assert artifact.path == "pyfiles/bundle.zip"
        with artifact.storage.stream() as stream, ZipFile(stream) as archive:
            self.sent = {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "bundle"
    (root / "daily").mkdir(parents=True)
    (root / ".venv").mkdir()
    (root / "daily" / "dag.py").write_text("dag")
    for path in (root, root / "daily"):
        monkeypatch.syspath_prepend(str(path))
    loaded = ModuleType("headway_dag_file_000000000000_dag")
    loaded.__file__ = str(root / "daily" / "dag.py")
    monkeypatch.setitem(sys.modules, loaded.__name__, loaded)
    return root


def sent(bundle: Path) -> dict[str, bytes]:
    session: Any = Session()
    code = version_code(bundle, files_below(bundle))
    for package in bundle.glob("*.zip"):
        code.open_package(package.name)
    send_bundle(session, code, bundle.parent / "scratch")
    return dict(session.sent)


def test_a_dag_file_alone_sends_nothing(bundle: Path) -> None:
    (bundle / ".venv" / "hidden.py").write_text("hidden")

    assert sent(bundle) == {}


def test_modules_lie_where_they_are_imported_from_the_nearest_first(bundle: Path) -> None:
    (bundle / "helper.py").write_text("of the root")
    (bundle / "daily" / "helper.py").write_text("beside the DAG file")
    (bundle / "common").mkdir()
    (bundle / "common" / "dates.py").write_text("dates")
    (bundle / "data.csv").write_text("1,2")

    found = sent(bundle)

    assert found["helper.py"] == b"beside the DAG file"
    assert found["common/dates.py"] == b"dates"
    assert "data.csv" not in found
    assert not any(name.endswith("dag.py") for name in found)


def test_a_package_is_unpacked_to_where_it_is_imported(
    bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ZipFile(bundle / "dags.zip", "w") as package:
        package.writestr("inside/deep.py", "deep")
        package.writestr("readme.txt", "text")
    monkeypatch.syspath_prepend(str(bundle / "dags.zip"))

    assert sent(bundle) == {"inside/deep.py": b"deep"}


def test_modules_outside_the_bundle_stay_where_they_are(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "other.py").write_text("other")
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))

    assert sent(bundle) == {}
