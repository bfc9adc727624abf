"""What is lost with whoever is silent: judged with care when many are silent at once."""

from dataclasses import dataclass
from typing import Final

FEW: Final = 10
"""How many may fall silent at once without that being taken for a storm."""

SHARE: Final = 0.3
"""Of all: above it, and above `FEW`, it is likelier that the database was slow or its clock
jumped than that so many have died."""


@dataclass(frozen=True, slots=True)
class Survey:
    """Attempts by what is known of them.

    `running` and `expired` count those of processes that are thought to be alive, the
    latter with a lease that has run out; `orphaned` those of dead ones, likewise run out.
    """

    running: int
    expired: int
    orphaned: int


def is_storm(silent: int, of: int) -> bool:
    """Tell whether so many are silent that the cause is probably not theirs.

    What they hold is then left to them for longer: all of it begun again at once would
    come at the very time at which the database can bear it least.
    """
    return silent > max(FEW, SHARE * of)
