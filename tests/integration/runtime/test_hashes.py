"""A fork server of its own does not run with other hashes than those of all."""

import subprocess
import sys

CODE = """
from headway.runtime.forker.hashes import fix_hashes
fix_hashes({"PYTHONHASHSEED": "0"})
"""


def test_a_python_that_heeds_no_environment_is_refused_and_not_begun_for_ever() -> None:
    command = [sys.executable, "-I", "-c", CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert "cannot fix the order of sets" in done.stderr
