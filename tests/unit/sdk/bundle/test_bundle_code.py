"""Paths of a version's files, and what is on disk when a write fails."""

import errno
import os
from pathlib import Path

import pytest

from headway.sdk.bundle.bundle_code import BundleCode
from headway.testing.data.version_code import version_code

FILES = {"dag.py": b"DAG", "conf/a.json": b"a"}


@pytest.fixture
def code(tmp_path: Path) -> BundleCode:
    return version_code(tmp_path / "dags", FILES, {"data.csv": b"1,2", "more.csv": b"3,4"})


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("dags", ""),
        ("dags/", ""),
        ("dags/conf/a.json", "conf/a.json"),
        ("dags/conf/../dag.py", "dag.py"),
        ("./dags/dag.py", "dag.py"),
        ("other/../dags/dag.py", "dag.py"),
        ("dags//dag.py", "dag.py"),
        ("dags-of-another/dag.py", None),
        ("dags2", None),
        ("dags/../dag.py", None),
        ("dags/../other/dag.py", None),
        ("other", None),
    ],
)
def test_only_what_is_below_the_folder_is_inside(
    code: BundleCode, path: str, found: str | None
) -> None:
    whole = f"{code.root.parent}/{path}"

    assert code.inside(whole) == found
    assert code.inside(os.fsencode(whole)) == found


def test_what_is_no_whole_path_is_not_inside(code: BundleCode) -> None:
    assert code.inside("dag.py") is None
    assert code.inside(3) is None


def test_a_write_that_fails_is_told_each_time_and_leaves_no_part(
    code: BundleCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(os, "fdopen", full)
            with pytest.raises(OSError, match="No space left"):
                code.place()
    assert [path for path in code.root.rglob("*") if path.is_file()] == []

    code.place()
    assert (code.root / "data.csv").read_bytes() == b"1,2"


def test_a_folder_that_somebody_else_has_made_is_not_used(code: BundleCode) -> None:
    code.root.mkdir()

    for _ in range(2):
        with pytest.raises(FileExistsError):
            code.place()


def test_of_data_only_the_file_that_is_opened_is_written(code: BundleCode) -> None:
    code.need("data.csv")

    assert (code.root / "data.csv").exists()
    assert not (code.root / "more.csv").exists()
    assert code.opened == {"data.csv"}


def test_a_folder_that_is_listed_has_all_files(code: BundleCode) -> None:
    code.need("")

    assert sorted(path.name for path in code.root.iterdir()) == [
        "conf",
        "dag.py",
        "data.csv",
        "more.csv",
    ]


PANDAS = "ModuleNotFoundError: No module named 'pandas'"
STATIC = [
    b"import pandas as pd\n",
    b"def f():\n    from pandas import DataFrame\n",
    b"import json, pandas\n",
    b"import json\n",
    b"from importlib import import_module\nimport_module(name)\nimport pandas\n",
]


@pytest.mark.regression
@pytest.mark.parametrize("source", STATIC)
def test_a_module_that_is_not_installed_is_to_be_installed(tmp_path: Path, source: bytes) -> None:
    code = version_code(tmp_path / "dags", {"dag.py": source})

    advice = code.advice(PANDAS, "dag.py")

    assert advice is not None
    assert "pip install pandas" in advice
    assert "headway_files" not in advice


@pytest.mark.parametrize(
    "source", [b"from importlib import import_module\nimport_module(name)\n", b"__import__(name)\n"]
)
def test_a_module_that_is_named_at_run_time_may_be_left_out(tmp_path: Path, source: bytes) -> None:
    code = version_code(tmp_path / "dags", {"dag.py": source})

    advice = code.advice(PANDAS, "dag.py")

    assert advice is not None
    assert 'headway_files = ["pandas.py"]' in advice
    assert "pip install pandas" in advice


def test_a_data_file_that_is_missing_is_to_be_named(tmp_path: Path) -> None:
    code = version_code(tmp_path / "dags", {"dag.py": b""})

    advice = code.advice(f"FileNotFoundError: [Errno 2] '{code.root}/a.json'", "dag.py")

    assert advice is not None
    assert 'headway_files = ["a.json"]' in advice
    assert "pip install" not in advice
