"""The chore that deletes versions, and what they were made of, when they are of no use any more."""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from sqlalchemy import Connection, Engine

from headway.db import processes, retention
from headway.db.processes import Identity

log = logging.getLogger(__name__)

DAY: Final = 86400.0
UNUSED: Final = 3600.0
"""Seconds for which nobody has stored a content before it may go."""

BATCH: Final = 100
"""Rows of one kind that one transaction deletes."""

Step: TypeAlias = Callable[[Connection], int]


def prune(
    engine: Engine, me: Identity, retention_days: float, versions_to_keep: int, batch: int = BATCH
) -> bool:
    """Delete a batch of each kind, each in its own transaction; return whether there may be more.

    Any number of parsers may do so at once, beside others that store.
    """
    steps: dict[str, Step] = {
        "versions": lambda conn: retention.prune_versions(
            conn, retention_days * DAY, versions_to_keep, batch
        ),
        "manifests": lambda conn: retention.prune_manifests(conn, UNUSED, batch),
        "files": lambda conn: retention.prune_files(conn, UNUSED, batch),
        "definitions": lambda conn: retention.prune_definitions(conn, UNUSED, batch),
    }
    pruned = {name: _once(engine, me, step) for name, step in steps.items()}
    if any(pruned.values()):
        told = " ".join(f"{name}={count}" for name, count in pruned.items())
        log.info("action=prune %s", told)
    return batch in pruned.values()


def _once(engine: Engine, me: Identity, step: Step) -> int:
    with engine.begin() as conn:
        processes.confirm(conn, me)
        return step(conn)
