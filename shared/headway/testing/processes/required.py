"""What a test needs of the machine: it is skipped where that is missing, or fails there.

TEST_REQUIRE=all has it fail.  That is for continuous integration, where a missing program is
a mistake in `.ci/packages` and must not pass as a skipped test.
"""

import re
import shutil
from typing import Final

import pytest

from headway.testing.processes import modes

_MISSING: Final = re.compile(r"is not installed|could not import")


def required_program(name: str, package: str) -> str:
    """Return the path of a program; skip the test if the program is not installed.

    `package` is the Debian package that has the program.
    """
    path = shutil.which(name) or shutil.which(name, path="/usr/sbin:/usr/games")
    if path is None:
        pytest.skip(f"{name} is not installed: apt-get install {package}")
    return path


def fail_for_missing(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Turn a skip for a missing program or module into a failure, if all is required."""
    if not (report.skipped and modes.all_required()):
        return
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    if _MISSING.search(reason):
        report.outcome = "failed"
        report.longrepr = f"TEST_REQUIRE=all: {reason}"
