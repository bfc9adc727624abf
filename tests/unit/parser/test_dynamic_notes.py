"""What the author of a DAG file is told of imports by names that are built at run time."""

from pathlib import Path

import pytest

from headway_parser.version_files import version_files

SOURCE = """
from importlib import import_module
from headway.sdk import DAG, task

with DAG("d"):

    @task
    def load(name):
        return import_module(f"plugins.{name}").run()

    load("a")
"""
NOTE = "dag.py, line 9, imports a module by a name that is built at run time."


@pytest.mark.regression
@pytest.mark.parametrize(
    ("named", "is_told"),
    [
        ("[]", True),
        ('["conf/*.json"]', True),
        ('["plugins/a*.py"]', True),
        ('["plugins/*.py"]', False),
        ('["plugins/a.py", "plugins/b.py"]', False),
        ('["**"]', False),
    ],
)
def test_a_note_ends_when_the_modules_are_named(tmp_path: Path, named: str, is_told: bool) -> None:
    for name in ("plugins/a.py", "plugins/b.py", "conf/a.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "dag.py").write_text(f"headway_files = {named}\n{SOURCE.lstrip()}")

    notes = version_files(tmp_path, "dag.py", None).notes

    assert [note.startswith(NOTE) for note in notes] == [True] * is_told
