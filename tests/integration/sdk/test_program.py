"""A DAG file that Python runs as its program."""

import subprocess
import sys
from pathlib import Path

SOURCE = """
from headway.sdk import DAG, Variable
from names import NAME
print(Variable.get("v", "none"), Variable.get("w", "default"), NAME)
"""
OF_A_MODULE = """
from headway.sdk import Variable
try:
    NAME = Variable.get("v", "none")
except Exception as error:
    NAME = type(error).__name__
"""


def test_a_program_reads_variables_of_its_environment(tmp_path: Path) -> None:
    """A module that it imports does not: tasks of workers and Spark's processes are no programs."""
    (tmp_path / "d.py").write_text(SOURCE)
    (tmp_path / "names.py").write_text(OF_A_MODULE)

    done = subprocess.run(
        [sys.executable, str(tmp_path / "d.py")],
        env={"HEADWAY_VAR_V": "here"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout == "here default RefusedException\n"
