"""The tables.  Migrations create them; a test holds the two against each other."""

from sqlalchemy import DDL, event
from sqlalchemy.schema import DDLElement

from headway.db.schema import (
    accounts,
    attempts,
    backfills,
    callbacks,
    catchup,
    dags,
    deadlines,
    notifications,
    processes,
    run_requests,
    runs,
    secrets,
    state_store,
)
from headway.db.schema.columns import METADATA

__all__ = [
    "METADATA",
    "accounts",
    "attempts",
    "backfills",
    "callbacks",
    "catchup",
    "dags",
    "deadlines",
    "notifications",
    "processes",
    "run_requests",
    "runs",
    "secrets",
    "state_store",
]

# What an exclusion constraint needs to compare text.
_EXTENSION: DDLElement = DDL("CREATE EXTENSION IF NOT EXISTS btree_gist")  # type: ignore[no-untyped-call]
event.listen(METADATA, "before_create", _EXTENSION)
