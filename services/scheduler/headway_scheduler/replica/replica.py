"""What every pass of one scheduler replica works with."""

from dataclasses import dataclass, field

from sqlalchemy import Engine

from headway.db.core.processes import Identity
from headway.db.scheduling.scope import Scope
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_scheduler.replica.quarantine import Quarantine, of_dags, of_requests, of_runs
from headway_scheduler.replica.specs import Specs
from headway_scheduler.replica.tracing import Tracing, Untraced


@dataclass(frozen=True, slots=True)
class Replica:
    """A process that schedules: where, as who, by which settings, and the DAGs that it knows.

    What it could not create runs of, start, time out, settle, queue or answer is set aside pass by
    pass.
    """

    engine: Engine
    me: Identity
    settings: SchedulerSettings
    specs: Specs = field(default_factory=Specs)
    own_alone: bool = False
    creating: Quarantine[str] = field(default_factory=of_dags)
    starting: Quarantine[str] = field(default_factory=of_dags)
    ending: Quarantine[int] = field(default_factory=of_runs)
    settling: Quarantine[int] = field(default_factory=of_runs)
    queueing: Quarantine[str] = field(default_factory=of_dags)
    answering: Quarantine[int] = field(default_factory=of_requests)
    tracing: Tracing = field(default_factory=Untraced)

    @property
    def scope(self) -> Scope:
        """Which runs it schedules: with `own_alone` those that it has reserved, and no others."""
        return Scope(self.me.id, self.own_alone)
