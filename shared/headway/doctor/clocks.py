"""Checks of clocks: how far this machine's differs from the database's."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection

from headway.db import server
from headway.doctor.finding import DatabaseCheck, Finding, Subject, judged

NOTABLE: Final = 1.0
"""Seconds by which a clock may differ before anybody is told."""


def clock(subject: Subject, conn: Connection) -> Iterator[Finding]:
    """Compare the clock of this machine with the database's."""
    before = subject.clock.now()
    theirs = server.now(conn)
    ahead = max((before - theirs).total_seconds(), 0.0)
    behind = max((theirs - subject.clock.now()).total_seconds(), 0.0)
    differs = max(ahead, behind)
    found = f"{differs:.1f} s {'ahead of' if ahead else 'behind'} the database's clock"
    yield judged(
        "clock",
        found if differs > NOTABLE else "the same as the database's",
        f"within {NOTABLE:g} s of the database's clock",
        "Set the clock of this machine by NTP: timedatectl set-ntp true"
        if differs > NOTABLE
        else None,
    )


CHECKS: Final[tuple[DatabaseCheck, ...]] = (clock,)
