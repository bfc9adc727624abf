"""A claimed attempt as the database tells a worker of it, for tests without a database."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from headway.db.core.attempt_keys import AttemptKey
from headway.db.execution.attempts import Claimed
from headway.domain.interval import DataInterval
from headway.domain.states import RunType

NOON: Final = datetime(2013, 1, 1, 12, tzinfo=UTC)
"""When the run of the attempt was due, and when it started."""

_CLAIMED: Final = Claimed(
    key=AttemptKey(1, 1, UUID(int=1)),
    dag_run_id=1,
    dag_id="d",
    run_id="r",
    run_type=RunType.MANUAL,
    task_id="t",
    map_index=-1,
    failures=0,
    losses=0,
    conf={},
    version_id=1,
    manifest_hash="",
    interval=DataInterval.exact(NOON),
    schedule_date=NOON,
    run_after=NOON,
    run_started_at=NOON,
)


def claimed(**changes: Any) -> Claimed:
    """Return an attempt of the task t in a manual run of the DAG d, with these changes."""
    return replace(_CLAIMED, **changes)
