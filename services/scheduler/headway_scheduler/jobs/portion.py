"""How much of what is due a scheduler does at once, when there is more than it can do."""

from dataclasses import dataclass
from typing import Final

SECONDS: Final = 0.1
"""For how long others may wait for a portion."""

FEWEST: Final = 250
MOST: Final = 1000


@dataclass(slots=True)
class PortionSize:
    """The size of the next portion, by how long those before it took.

    What falls due on time is served between two portions: on a fast machine they are large,
    for the sake of speed; on a slow one, or one that is busy, small.
    """

    size: int = 500

    def took(self, seconds: float) -> None:
        """Come closer to the size that takes `SECONDS`, at most twice as much or half as much."""
        factor = min(max(SECONDS / max(seconds, SECONDS / 2), 0.5), 2.0)
        self.size = min(max(int(self.size * factor), FEWEST), MOST)
