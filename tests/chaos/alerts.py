"""Which fault raises which alert, which needs no person, and what a Prometheus has seen of it."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.chaos.scene import Scene
from tests.chaos.services import port_setting

from headway.runtime.daemon.clock import Clock
from headway.testing.metrics.alerts import RULES
from headway.testing.metrics.prometheus import Prometheus, prometheus

RAISES: Final[Mapping[str, str]] = {
    "kill worker": "HeadwayAttemptsLost",
    "cut off worker": "HeadwayAttemptsLost",
    "stall supervisor": "HeadwayAttemptsLost",
    "shift a clock": "HeadwayClockOff",
}
"""Kinds of faults by the alert that they raise."""

NEEDS_NO_PERSON: Final[Mapping[str, str]] = {
    "kill forker": "its worker starts another one, and tries the attempts again",
    "kill nanny": "the attempt is tried again",
    "kill attempt": "the attempt is tried again",
    "kill Spark server": "the worker starts another one, and the attempts are tried again",
    "stall forker": "the nannies kill the attempts in time; the worker starts another fork server",
    "stall nanny": "the worker kills the attempt in time, and it is tried again",
    "kill scheduler": "the other scheduler takes over; the platform starts this one again",
    "stall scheduler": "the other scheduler takes over; this one ends when it finds out",
    "kill parser": "the other parser goes on; the platform starts this one again",
    "kill api": "the other API answers; the platform starts this one again",
    "stall api": "the other API answers; this one ends when it finds out",
    "cut off api": "the other API answers; this one goes on when it is let through",
    "kill Postgres": "it is back in seconds, and services go on by themselves; "
    "HeadwayDatabaseAway waits for 3 minutes",
    "close connections": "services open others at once",
    "hold a lock": "what waits for it goes on after seconds; HeadwayOldTransaction waits longer",
    "clear a task": "a user wants it",
    "cancel a run": "a user wants it",
    "edit the DAG file": "a user wants it",
    "lose an answer": "the message is sent again under its id",
}
"""Kinds of faults by the reason for which nobody is called."""

MANY: Final = 10
"""So many attempts lost, of which a killed scheduler may have counted some, raise the alert."""

_LOOK_EVERY: Final = 1.0


def at_once(rules: str) -> str:
    """Return the rules with the same conditions, which raise their alerts without delay.

    Faults last for seconds; what an alert waits for is tried with `promtool`.
    """
    return re.sub(r"\bfor: \d+[smhd]", "for: 0s", rules)


@dataclass(slots=True)
class Alarms:
    """Notes which alerts have fired."""

    server: Prometheus
    clock: Clock
    fired: set[str] = field(default_factory=set)
    looked_at: float = 0.0

    def look(self) -> None:
        """Note the alerts that fire now, if it is time to look."""
        now = self.clock.monotonic()
        if now - self.looked_at >= _LOOK_EVERY:
            self.looked_at = now
            self.fired |= self.server.firing()


@contextmanager
def alarmed(scene: Scene, clock: Clock) -> Iterator[Alarms]:
    """Have a Prometheus scrape all services of the scene and apply the rules of the chart."""
    services = scene.fleet.services
    ports = {
        service.name: int(service.environment[port_setting(service.kind)]) for service in services
    }
    folder = scene.root / "prometheus"
    with prometheus(folder, ports, at_once(RULES.read_text()), scene.fleet.keep) as server:
        yield Alarms(server, clock)


def violations(done: Counter[str], lost: int, deadlines: int, fired: set[str]) -> Iterator[str]:
    """Yield what should have raised an alert and has not; `done` counts faults by kind.

    `lost` is how many attempts were lost, `deadlines` how many deadlines were missed.
    """
    for kind in sorted(name for name, count in done.items() if count):
        alert = RAISES.get(kind)
        if alert is None and kind not in NEEDS_NO_PERSON:
            yield f"nobody has said whether a person is needed for: {kind}"
        elif alert == "HeadwayAttemptsLost" and lost < MANY:
            continue
        elif alert is not None and alert not in fired:
            yield f"{alert} has not fired although its fault was seen: {kind}"
    if deadlines and "HeadwayDeadlinesMissed" not in fired:
        yield f"HeadwayDeadlinesMissed has not fired although {deadlines} deadlines were missed"
