"""A YARN or Kubernetes cluster for tests: programs that keep their state in a folder."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from headway.testing.spark import fake_programs

_PROGRAMS: Final = ("spark-submit", "yarn", "kinit")


@dataclass(frozen=True, slots=True)
class FakeCluster:
    """The folder of the programs: it is the SPARK_HOME and the HADOOP_HOME of a test."""

    home: Path

    @classmethod
    def new(cls, home: Path) -> "FakeCluster":
        """Write the programs into a folder that is not there yet."""
        for name in ("bin", "apps", "deleted"):
            (home / name).mkdir(parents=True)
        source = Path(fake_programs.__file__).read_text()
        for name in _PROGRAMS:
            program = home / "bin" / name
            program.write_text(f"#!{sys.executable}\n{source}")
            program.chmod(0o755)
        return cls(home)

    def applications(self) -> list[dict[str, str]]:
        """Return what was accepted, in order, but for pods that were deleted."""
        return [json.loads(file.read_text()) for file in sorted((self.home / "apps").iterdir())]

    def ended(self) -> list[dict[str, str]]:
        """Return what has ended, pods that were deleted as well."""
        deleted = [json.loads(file.read_text()) for file in (self.home / "deleted").iterdir()]
        return [
            application
            for application in [*self.applications(), *deleted]
            if application["state"] != "RUNNING"
        ]

    def finish(self, final: str = "SUCCEEDED") -> None:
        """Let the last application end so."""
        app = self.applications()[-1]
        app |= {"state": "FINISHED", "final": final, "why": "says the test"}
        draft = self.home / "draft"
        draft.write_text(json.dumps(app))
        draft.rename(self.home / "apps" / app["id"])

    def forget(self) -> None:
        """Let the cluster know of no application any more."""
        for file in (self.home / "apps").iterdir():
            file.rename(self.home / "deleted" / file.name)

    def reset(self) -> None:
        """Begin anew, without faults."""
        for file in [*self.home.glob("*/*"), *self.home.glob("*")]:
            if file.is_file() and file.parent.name != "bin":
                file.unlink()

    def begin(self, fault: str) -> None:
        """Begin a fault: silent, refusing, stalling, hanging or clinging."""
        (self.home / fault).touch()

    def stop(self, fault: str) -> None:
        """End a fault."""
        (self.home / fault).unlink()

    def calls(self) -> list[dict[str, Any]]:
        """Return the command lines and environments of all programs that were run."""
        file = self.home / "calls.jsonl"
        *lines, _being_written = file.read_text().split("\n") if file.exists() else [""]
        return [json.loads(line) for line in lines]

    def commands(self, *words: str) -> list[list[str]]:
        """Return the command lines that have all of these words."""
        found = [call["command"] for call in self.calls()]
        return [command for command in found if set(words) <= set(command)]
