"""docs/from-airflow.md says of each feature of Airflow what it does here; each row is tried.

The rows are those of the guide, and the cases those of `from_airflow_cases.txt`, under the same
names. What comes before the first case begins each of them. A case may hold `given`, for the run,
`check`, which gets the result of the run, and `parsed_only`.
"""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.airflow_layer import notes
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.file_secrets import FileSecrets
from headway.testing import run_dag
from headway.testing.data.file_source import FileSource
from headway_parser.child.asking import refused_secrets

GUIDE = (Path(__file__).parents[3] / "docs" / "from-airflow.md").read_text()
BEGIN, *CASES = re.split(
    r"^== ", Path(__file__).with_name("from_airflow_cases.txt").read_text(), flags=re.MULTILINE
)
SOURCES = {case.partition("\n")[0]: BEGIN + case.partition("\n")[2] for case in CASES}
GRANTED = "\n# granted\n"
IN_GRANTED = FileSource({"v": "x"}, {"c": "http://there"})
"""What a case may read at its top level that has such a line; others are refused it."""
SECTION = GUIDE.split("\n## Feature by feature\n")[1].split("\n## ")[0]
ROWS = {
    name: (state, said)
    for name, state, said in re.findall(
        r"^\| (.+?) \| (works|differs|refused) \| ?(.*?) ?\|$", SECTION, re.MULTILINE
    )
}


def test_each_row_has_a_case_and_each_case_a_row() -> None:
    lines = [
        line for line in SECTION.splitlines() if line.startswith("| ") and "how, or" not in line
    ]

    assert list(ROWS) == list(SOURCES)
    assert len(lines) == len(ROWS) == len(CASES) >= 120


def tried(name: str, folder: Path) -> None:
    """Load the file of a case as a parser does, and run its DAGs; an error goes through."""
    (folder / "texts").mkdir()
    (folder / "texts" / "a.sql").write_text("SELECT '{{ ds }}'")
    (folder / "case.py").write_text(SOURCES[name])
    granted = GRANTED in SOURCES[name]
    secrets = FileSecrets(IN_GRANTED) if granted else refused_secrets("dags")
    for dag in load_dag_file(folder / "case.py", folder, secrets=secrets):
        to_spec(dag, "case.py")
        module: Any = sys.modules[dag.file.module_name] if dag.file else None
        if getattr(module, "parsed_only", False):
            continue
        result = run_dag(dag, **getattr(module, "given", {}))
        if hasattr(module, "check"):
            module.check(result)
        elif errors := [task.error for task in result.tasks.values() if task.error]:
            raise RuntimeError(errors[0])


def message(name: str, folder: Path) -> str:
    """Return the error of a case; empty if it has none."""
    try:
        tried(name, folder)
    except Exception as error:  # noqa: BLE001 - what it says is looked at
        return f"{error!r}" if isinstance(error, AssertionError) else str(error)
    return ""


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_what_happens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    state, said = ROWS[name]
    if state == "refused":
        assert len(said) > 20
        assert said.replace("`", "") in message(name, tmp_path).replace("`", "")
        return
    tried(name, tmp_path)

    assert said or state == "works"
    assert state == "differs" or notes.notes() == []
