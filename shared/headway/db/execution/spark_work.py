"""SQL on what attempts do in Spark: how far they are, what they took, what they may have left."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from json import dumps

from sqlalchemy import Connection, text

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.db.core.prepared import hot
from headway.db.execution.attempts import Claimed
from headway.domain.spark_work import SparkFigures, SparkProgress

# An attempt that has ended is still its worker's to tell of, by its token.  What is absent
# from a report stays as it is.  In the order of ids, as all that lock attempts.
SAVE = hot("""
    WITH said AS MATERIALIZED (
        SELECT * FROM unnest(CAST(:task_ids AS bigint[]), CAST(:attempts AS int[]),
                             CAST(:tokens AS uuid[]), CAST(:progress AS text[]),
                             CAST(:figures AS text[]))
               AS said (task_instance_id, attempt, token, progress, figures)
         ORDER BY task_instance_id
    )
    INSERT INTO spark_work AS present (task_instance_id, attempt, progress, figures, updated_at)
    SELECT said.task_instance_id, said.attempt, CAST(said.progress AS json),
           CAST(said.figures AS json), clock_timestamp()
      FROM said
     CROSS JOIN LATERAL (
           SELECT FROM task_attempt AS it
            WHERE it.task_instance_id = said.task_instance_id AND it.attempt = said.attempt
              AND it.token = said.token
              FOR KEY SHARE OF it) AS it
        ON CONFLICT (task_instance_id, attempt) DO UPDATE
       SET progress = coalesce(excluded.progress, present.progress),
           figures = coalesce(excluded.figures, present.figures),
           updated_at = excluded.updated_at
""")


PRIOR_ATTEMPTS = text("""
    SELECT it.attempt, it.outcome, it.handle,
           it.stop_to IS NOT NULL OR it.attempt < :first AS is_called_off,
           it.ended_at < now() - make_interval(secs => :seconds) AS is_long_ago,
           process.ended_at IS NOT NULL AS worker_is_dead
      FROM task_attempt AS it
      LEFT JOIN process ON process.id = it.process_id
     WHERE it.task_instance_id = :task_id AND it.attempt < :attempt AND it.handle IS NOT NULL
     ORDER BY it.attempt
""")


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkNews:
    """What a worker has to say of an attempt in Spark; None changes nothing."""

    key: AttemptKey
    progress: SparkProgress | None = None
    figures: SparkFigures | None = None


@dataclass(frozen=True, slots=True)
class PriorAttempt:
    """An attempt of the same task instance before, and the handle of what it did elsewhere.

    It is called off if it was told to stop, or its task was cleared since: whatever its
    outcome, nobody wants what it did.
    """

    attempt: int
    outcome: str | None
    handle: Mapping[str, str]
    is_called_off: bool
    is_long_ago: bool
    worker_is_dead: bool


def save(conn: Connection, said: Sequence[SparkNews]) -> None:
    """Record what attempts do in Spark, all in one statement; those given away are left out."""
    ordered = sorted(said, key=lambda it: (it.key.task_instance_id, it.key.attempt))
    conn.execute(
        SAVE,
        {
            **attempt_keys.columns([news.key for news in ordered]),
            "progress": [_json(news.progress) for news in ordered],
            "figures": [_json(news.figures) for news in ordered],
        },
    )


def prior_attempts(conn: Connection, claimed: Claimed, seconds: float) -> list[PriorAttempt]:
    """Return the attempts before this one that had something elsewhere, the oldest first.

    One is long ago when it has ended more than `seconds` before.
    """
    rows = conn.execute(
        PRIOR_ATTEMPTS,
        {
            "task_id": claimed.key.task_instance_id,
            "attempt": claimed.key.attempt,
            "first": _first(claimed),
            "seconds": seconds,
        },
    )
    return [
        PriorAttempt(
            row.attempt,
            row.outcome,
            row.handle,
            row.is_called_off,
            bool(row.is_long_ago),
            row.worker_is_dead,
        )
        for row in rows
    ]


def _first(claimed: Claimed) -> int:
    """Return the number of the first attempt since a user has last cleared the task, if any has.

    A clear sets both counts back, and without one only what counts has a successor.
    """
    return claimed.key.attempt - claimed.failures - claimed.losses


def _json(record: SparkProgress | SparkFigures | None) -> str | None:
    return None if record is None else dumps(asdict(record))
