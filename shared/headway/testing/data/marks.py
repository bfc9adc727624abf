"""What tasks record of when they ran: each process a file of times, in a folder of the test's."""

from dataclasses import dataclass
from pathlib import Path

from headway.testing.time.clock import PATIENCE, until


@dataclass(frozen=True, slots=True)
class Marks:
    """The times that attempts of one task have written to files `marks-…` of a folder.

    The times are those of the machine's clock, which processes of the machine have in common.
    """

    folder: Path

    def executions(self) -> list[tuple[float, float]]:
        """Return when each execution began and was last seen, in the order of their beginnings."""
        found = []
        for file in self.folder.glob("marks-*"):
            times = [float(line) for line in file.read_text().splitlines(keepends=True)[:-1]]
            if times:
                found.append((min(times), max(times)))
        return sorted(found)

    def wait_for(self, number: int, patience: float = PATIENCE) -> None:
        """Wait until that many executions have begun."""
        until(lambda: len(self.executions()) >= number, f"execution {number}", patience)

    def overlaps(self) -> list[float]:
        """Return for how many seconds executions ran beside an earlier one."""
        found, latest = list[float](), 0.0
        for began, last in self.executions():
            if began <= latest:
                found.append(latest - began)
            latest = max(latest, last)
        return found

    def end(self) -> None:
        """Let the execution that runs, and all later ones, end."""
        (self.folder / "end").touch()
