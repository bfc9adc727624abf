"""Checks of rights that every role has and no migration can take away."""

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection

from headway.db.access import public_rights
from headway.doctor.finding import DatabaseCheck, Examined, Finding, judged


def of_public(_subject: Examined, conn: Connection) -> Iterator[Finding]:
    """Look at what PUBLIC may make in the database, each as large as the disk."""
    for right in public_rights.found(conn):
        yield judged(
            f"PUBLIC {right.what}",
            f"every role may make {right.what}" if right.granted else "not granted to PUBLIC",
            "only who is granted it can fill the disk",
            f"{right.revoke} (as {right.by})" if right.granted else None,
        )


CHECKS: Final[tuple[DatabaseCheck, ...]] = (of_public,)
