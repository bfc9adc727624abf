"""What is lost with whoever is silent: judged with care when many are silent at once."""

from dataclasses import dataclass
from typing import Final

from headway.domain.dag.retry import MOST_LOSSES, Next, after_loss
from headway.domain.states import OnLost, TaskState

FEW: Final = 10
"""How many may fall silent at once without that being taken for a storm."""

SHARE: Final = 0.3
"""Of all: above it, and above `FEW`, it is likelier that the database was slow or its clock
jumped than that so many have died."""


@dataclass(frozen=True, slots=True)
class SilenceCount:
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


@dataclass(frozen=True, slots=True)
class FollowedAttempt:
    """A lost attempt is followed at once by another one, which keeps its slot.

    With a state the other one runs nothing: it ends what was left on a cluster, and the task
    gets that state afterwards.
    """

    stop_to: TaskState | None = None


def what_follows(
    losses: int, on_lost: OnLost, *, leaves: bool, stop_to: TaskState | None
) -> Next | FollowedAttempt:
    """Return what follows an attempt whose worker is dead; `losses` counts it, too.

    One that `leaves` an application on a cluster is followed until there have been too many:
    it may still have to be waited for, or, if the attempt was told to stop, to be killed.
    """
    following = after_loss(losses, on_lost)
    if not leaves or losses > MOST_LOSSES:
        return following
    return FollowedAttempt(
        stop_to or (TaskState.FAILED if following.state is TaskState.FAILED else None)
    )
