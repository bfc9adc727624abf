"""Whether a service is alive and ready, for probes that ask its HTTP port (docs/health.md).

    Loop ──moved──▶ Progress ─┐
    database ─────▶ Looking ──┼─▶ Health ─▶ server ─▶ /healthz, /readyz
    fork server ──────────────┘                       /metrics

`Health` is part of every service.  The module `server` is imported only where a port is set, and
`asking` only by `headway health`.  Nothing here knows the database: it is given a function.
"""

from headway.runtime.health.answers import Health, ServicePhase
from headway.runtime.health.check import HealthCheck
from headway.runtime.health.looking import Looking
from headway.runtime.health.progress import LoopProgress

__all__ = ["Health", "HealthCheck", "Looking", "LoopProgress", "ServicePhase"]
