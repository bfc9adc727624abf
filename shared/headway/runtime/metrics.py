"""The metrics of a service process, in the registry that it shows to Prometheus."""

from typing import Final

from prometheus_client import CollectorRegistry, Counter

REGISTRY: Final = CollectorRegistry()

ILLEGAL_TRANSITIONS: Final = Counter(
    "headway_illegal_transition",
    "Moves that the database refused because the table of moves does not have them: bugs.",
    registry=REGISTRY,
)
