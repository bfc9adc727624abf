"""What a check returns, and what it may look at."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from sqlalchemy import Connection

from headway.runtime.daemon.clock import Clock


@dataclass(frozen=True, slots=True)
class Finding:
    """One row: what was looked at, what was found, what is wanted, and what to do about it.

    `remedy` is a command, or a setting with its value; it is empty where nothing is wrong.
    """

    check: str
    ok: bool
    found: str
    wanted: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class Examined:
    """The machine and the account that `headway doctor` runs on and as."""

    environment: Mapping[str, str]
    home: Path
    clock: Clock


Check: TypeAlias = Callable[[Examined], Iterable[Finding]]
DatabaseCheck: TypeAlias = Callable[[Examined, Connection], Iterable[Finding]]


def judged(check: str, found: str, wanted: str, remedy: str | None) -> Finding:
    """Return a finding that is ok if there is nothing to remedy."""
    return Finding(check, remedy is None, found, wanted, remedy or "")
