"""What a check of a service's health has found."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """One thing that was looked at, whether it is as it must be, and what was found."""

    check: str
    ok: bool
    found: str


def as_data(checks: Sequence[HealthCheck]) -> dict[str, Any]:
    """Return the checks as the plain data that /healthz and /readyz show."""
    return {
        "ok": all(outcome.ok for outcome in checks),
        "checks": [
            {"check": outcome.check, "ok": outcome.ok, "found": outcome.found} for outcome in checks
        ],
    }


def from_data(data: Any) -> list[HealthCheck]:
    """Return what `as_data` made the data of; ValueError if it did not make it."""
    try:
        rows = [(check["check"], check["ok"], check["found"]) for check in data["checks"]]
    except (TypeError, KeyError) as error:
        raise ValueError("this is no answer of a service's health") from error
    return [HealthCheck(str(name), ok is True, str(found)) for name, ok, found in rows]
