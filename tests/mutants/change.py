"""One change of a source text, and how it is shown."""

from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path


@dataclass(frozen=True, slots=True, order=True)
class Change:
    """Replace what is between two characters of a text."""

    start: int
    end: int
    new: str

    def apply(self, text: str) -> str:
        """Return the text with the change in it."""
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change of a file, named relative to the checkout."""

    path: Path
    change: Change

    def line(self, text: str) -> int:
        """Return the number of the line that it changes."""
        return text.count("\n", 0, self.change.start) + 1

    def diff(self, text: str) -> str:
        """Return the change of the file's text as a unified diff."""
        lines = unified_diff(
            text.splitlines(),
            self.change.apply(text).splitlines(),
            f"a/{self.path}",
            f"b/{self.path}",
            lineterm="",
            n=1,
        )
        return "\n".join(lines)
