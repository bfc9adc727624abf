"""The files that a DAG has in a process of its author."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.cli.local.trial_code import check_dag_file, code_on_disk
from headway.domain.errors import DagError, NotFoundError
from headway.sdk import DAG
from headway.testing import load_dags

DAG_FILE = "from headway.sdk import DAG\nimport prices\nDAG('a')\n"


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


def test_files_on_disk_are_those_of_the_bundle_that_a_version_would_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_PARSER_DAGS", str(tmp_path))
    (tmp_path / "more").mkdir()
    (tmp_path / "prices.py").write_text("tax = 2\n")
    (tmp_path / "more" / "a.py").write_text(DAG_FILE)
    code = code_on_disk(load_dags(tmp_path / "more" / "a.py")["a"])

    assert code.root == tmp_path
    assert sorted(code.files) == ["more/a.py", "prices.py"]
    assert code.read("prices.py") == b"tax = 2\n"


def test_a_dag_that_no_file_has_made_has_no_files() -> None:
    code = code_on_disk(DAG("a"))

    assert (code.files, code.others) == ({}, {})
    with pytest.raises(NotFoundError):
        code.supply.content("0")


def test_a_dag_file_is_checked_in_a_process_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(f"import sys\nsys.checked = True\n{DAG_FILE}")
    (tmp_path / "prices.py").write_text("")

    assert check_dag_file(tmp_path / "a.py") == ()
    assert not hasattr(sys, "checked")


def test_a_file_reads_variables_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its own process, and in this one: both make the same DAGs."""
    (tmp_path / "a.py").write_text(
        "from headway.sdk import DAG, Variable\nDAG(Variable.get('v'))\n"
    )
    for read in (check_dag_file, load_dags):
        with pytest.raises(DagError, match="Set HEADWAY_VAR_V for the command"):
            read(tmp_path / "a.py")

    monkeypatch.setenv("HEADWAY_VAR_V", "given")

    assert check_dag_file(tmp_path / "a.py") == ()
    assert list(load_dags(tmp_path / "a.py")) == ["given"]


def test_what_this_process_has_imported_helps_no_other_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWAY_PARSER_DAGS", str(tmp_path))
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(DAG_FILE.replace("prices", "prices_of_one"))
    (tmp_path / "one" / "prices_of_one.py").write_text("")
    load_dags(tmp_path / "one" / "a.py")

    assert check_dag_file(tmp_path / "one" / "a.py") == ()
    with pytest.raises(DagError, match=r"(?s)^other/a\.py cannot be imported:\n.*prices_of_one"):
        check_dag_file(tmp_path / "other" / "a.py")
