"""Running tests against a mutated copy of the checkout."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from tests.mutants.change import Mutant

_COPIED: Final = ("shared", "services", "tests", "examples", "docs", "benchmarks")
_FILES: Final = ("pyproject.toml", "README.md", "Makefile", "constraints.txt", "CHANGELOG.md")
_PACKAGES: Final = ("shared", "services/parser", "services/scheduler", "services/worker")
_PASSED: Final = 0
_NO_TESTS: Final = 5


class Verdict(StrEnum):
    """What the tests say of a mutant."""

    CAUGHT = "caught"
    TIMED_OUT = "caught by the time-out"
    SURVIVED = "survived"


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the checkout, in which one file at a time is changed."""

    root: Path

    @classmethod
    def of(cls, checkout: Path, root: Path) -> "Copy":
        """Copy what tests need of the checkout."""
        unneeded = shutil.ignore_patterns("__pycache__", "*.pyc", ".headway", ".hypothesis")
        for name in _COPIED:
            shutil.copytree(checkout / name, root / name, ignore=unneeded, symlinks=True)
        for name in _FILES:
            shutil.copy(checkout / name, root / name)
        return cls(root)

    def judge(self, mutant: Mutant, stages: Sequence[Sequence[Path]], seconds: float) -> Verdict:
        """Run tests until the first one fails, with the mutant in its file; stage by stage."""
        path = self.root / mutant.path
        whole = path.read_text()
        path.write_text(mutant.change.apply(whole))
        try:
            for tests in filter(None, stages):
                status = self.run(tests, seconds)
                if status is None:
                    return Verdict.TIMED_OUT
                if status not in (_PASSED, _NO_TESTS):
                    return Verdict.CAUGHT
            return Verdict.SURVIVED
        finally:
            path.write_text(whole)

    def run(self, tests: Sequence[Path], seconds: float) -> int | None:
        """Return the exit status of pytest, None if it takes longer than that."""
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
        paths = os.pathsep.join(str(self.root / name) for name in _PACKAGES)
        with subprocess.Popen(
            [*command, *map(str, tests)],
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            try:
                return process.wait(seconds)
            except subprocess.TimeoutExpired:
                return None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
