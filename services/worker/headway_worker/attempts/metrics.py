"""What a worker counts of its attempts for metrics."""

from dataclasses import dataclass, field

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Claimed
from headway.domain.states import Outcome
from headway.metrics.worker import (
    ATTEMPT_SECONDS,
    ATTEMPTS,
    CLAIM_LATENCY,
    LEASES_LOST,
    SLOTS,
    TASK_LAG,
)
from headway.runtime.daemon.clock import Clock


@dataclass(slots=True)
class Counts:
    """Count attempts as they start and end."""

    clock: Clock
    _began: dict[AttemptKey, float] = field(default_factory=dict)

    def claimed(self, claimed: Claimed) -> None:
        """Count an attempt that this worker has claimed."""
        CLAIM_LATENCY.observe(claimed.waited[0].total_seconds())

    def started(self, claimed: Claimed) -> None:
        """Count an attempt of which a child runs."""
        self._began[claimed.key] = self.clock.monotonic()
        scheduled = claimed.waited[1]
        if scheduled is not None:  # by a release that notes when
            TASK_LAG.observe(scheduled.total_seconds())

    def ended(self, claimed: Claimed, outcome: Outcome) -> None:
        """Count an attempt that is about to be reported, also one that has not started."""
        began = self._began.pop(claimed.key, None)
        if began is not None:
            ATTEMPT_SECONDS.observe(self.clock.monotonic() - began)
        ATTEMPTS.inc(claimed.dag_id, outcome)

    def given_away(self, key: AttemptKey) -> None:
        """Count an attempt that is no longer this worker's to report."""
        LEASES_LOST.inc()
        self._began.pop(key, None)


def show_slots(total: int, used: int, free: int) -> None:
    """Have the metrics tell how a worker's slots stood when its supervisor last looked.

    They are stored, not read when somebody asks: to look for free ones may start a fork server,
    which must be the supervisor's.
    """
    SLOTS.replace({("total",): total, ("used",): used, ("free",): free})
