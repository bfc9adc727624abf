"""When the probes of a container are due, and what their answers mean, as the kubelet has it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

KINDS: Final = ("startupProbe", "livenessProbe", "readinessProbe")


@dataclass(frozen=True, slots=True)
class Probe:
    """One probe, with the defaults of Kubernetes for what its manifest leaves out."""

    kind: str
    manifest: Mapping[str, Any] = field(repr=False)

    @property
    def period(self) -> float:
        """Seconds from one question to the next."""
        return float(self.manifest.get("periodSeconds", 10))

    @property
    def timeout(self) -> float:
        """Seconds that an answer may take."""
        return float(self.manifest.get("timeoutSeconds", 1))

    @property
    def failures(self) -> int:
        """Failures in a row that count."""
        return int(self.manifest.get("failureThreshold", 3))


@dataclass(slots=True)
class _Answers:
    probe: Probe
    due_at: float
    good: bool = False
    """By the answers so far: a container is neither started nor ready before it says so."""

    failed: int = 0
    """In a row."""

    def note(self, good: bool, now: float) -> None:
        self.due_at = now + self.probe.period
        self.failed = 0 if good else self.failed + 1
        if good or self.failed >= self.probe.failures:
            self.good = good

    @property
    def exhausted(self) -> bool:
        return self.failed >= self.probe.failures


class Health:
    """What the probes of one container say since its start."""

    def __init__(self, container: Mapping[str, Any], now: float) -> None:
        self._answers = {
            kind: _Answers(Probe(kind, container[kind]), now) for kind in KINDS if kind in container
        }

    @property
    def started(self) -> bool:
        """Whether the startup probe has succeeded once."""
        return self._says("startupProbe")

    @property
    def ready(self) -> bool:
        """Whether the container counts as ready."""
        return self.started and self._says("readinessProbe")

    @property
    def must_restart(self) -> str:
        """The probe because of which the container is stopped and started anew, or nothing."""
        for kind in ("startupProbe", "livenessProbe"):
            if (it := self._answers.get(kind)) is not None and it.exhausted:
                return kind
        return ""

    def due(self, now: float) -> list[Probe]:
        """Return the probes to ask now: until the container has started, that one alone."""
        kinds = KINDS[1:] if self.started else KINDS[:1]
        asked = (self._answers[kind] for kind in kinds if kind in self._answers)
        return [answers.probe for answers in asked if answers.due_at <= now]

    def note(self, probe: Probe, good: bool, now: float) -> None:
        """Take an answer to a probe into account."""
        self._answers[probe.kind].note(good, now)

    def _says(self, kind: str) -> bool:
        return kind not in self._answers or self._answers[kind].good
