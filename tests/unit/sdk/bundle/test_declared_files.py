"""`headway_files` of a DAG file."""

from pathlib import Path

import pytest

from headway.domain.errors import DagError
from headway.sdk.bundle import declared_files
from headway.sdk.bundle.declared_files import MOST_PATTERNS, declared, matches


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('headway_files = ["conf/*.json"]', ["dags/conf/*.json"]),
        ('x = 1\nheadway_files = ("../sql/a.sql", "b.txt")', ["sql/a.sql", "dags/b.txt"]),
        ("other = ['x']", []),
        ("headway_files = []", []),
        ("# headway_files are not named\nx = (", []),
    ],
)
def test_names_are_relative_to_the_dag_file(source: str, found: list[str]) -> None:
    assert declared(source.encode(), "dags/etl.py") == found


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("'conf/*.json'", "must be a list of texts"),
        ("[name for name in NAMES]", "must be a list of texts"),
        ("[1]", "must be a list of texts"),
        ("['']", "must be a list of texts"),
        ("['../../x']", "which is not in the bundle"),
        ("['/etc/passwd']", "which is not in the bundle"),
        ("['..']", "which is not in the bundle"),
    ],
)
def test_what_names_no_files_of_the_bundle_is_refused(value: str, message: str) -> None:
    with pytest.raises(DagError, match=message):
        declared(f"headway_files = {value}".encode(), "dags/etl.py")


def test_a_file_has_so_many_patterns_at_most() -> None:
    patterns = [f"conf/{number}/*" for number in range(MOST_PATTERNS)]
    names = [f"conf/{number}.json" for number in range(MOST_PATTERNS)]
    assert len(declared(f"headway_files = {patterns + names}".encode(), "etl.py")) == 100

    with pytest.raises(DagError, match=f"has {MOST_PATTERNS + 1} patterns"):
        declared(f"headway_files = {[*patterns, '*']}".encode(), "etl.py")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("a.json", "b.json", "c.txt", "deep/d.json", "deep/e/f.json", ".g.json"):
        (tmp_path / "conf" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("conf/*.json", ["conf/a.json", "conf/b.json"]),
        ("conf/[ab].json", ["conf/a.json", "conf/b.json"]),
        ("conf/?.txt", ["conf/c.txt"]),
        ("conf/a.json", ["conf/a.json"]),
        ("conf/none.json", []),
        ("conf/*/*.json", ["conf/deep/d.json"]),
        ("conf/deep/**", ["conf/deep/d.json", "conf/deep/e/f.json"]),
        ("**/f.json", ["conf/deep/e/f.json"]),
        ("conf/.*.json", ["conf/.g.json"]),
        ("none/*", []),
    ],
)
def test_patterns_name_files(root: Path, pattern: str, found: list[str]) -> None:
    assert matches(root, pattern) == found


def test_a_pattern_that_takes_too_long_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared_files, "MOST_LOOKED_AT", 5)

    with pytest.raises(DagError, match="more than 5 files and folders are to be looked at"):
        matches(root, "**/*.json")
