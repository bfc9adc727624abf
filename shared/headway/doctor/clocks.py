"""Checks of clocks: how far they differ from the database's."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection

from headway.db.core import processes, server
from headway.doctor.finding import DatabaseCheck, Examined, Finding, judged
from headway.domain.clock_skew import NOTABLE, described, is_notable, skew

WANTED: Final = f"within {NOTABLE:g} s of the database's clock"
SAME: Final = "the same as the database's"
REMEDY: Final = "timedatectl set-ntp true"


def clock(subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Compare the clock of this machine with the database's."""
    before = subject.clock.now()
    differs = skew(before, server.now(conn), subject.clock.now())
    yield _judged("clock", differs, REMEDY)


def clocks_of_processes(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Look at what running services say of their own clocks; there is a row for a wrong one."""
    for process_clock in processes.skews(conn):
        if is_notable(process_clock.skew):
            yield _judged(
                f"clock of {process_clock.kind} {process_clock.id}",
                process_clock.skew,
                f"On {process_clock.hostname}: {REMEDY}",
            )


def _judged(check: str, differs: float, remedy: str) -> Finding:
    wrong = is_notable(differs)
    return judged(check, described(differs) if wrong else SAME, WANTED, remedy if wrong else None)


CHECKS: Final[tuple[DatabaseCheck, ...]] = (clock, clocks_of_processes)
