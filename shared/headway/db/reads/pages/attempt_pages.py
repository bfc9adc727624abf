"""All attempts of a task instance.  Reads only."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage
from headway.db.reads.task_views import AttemptView
from headway.domain.states import Outcome, Phase

PAGE = text("""
    SELECT task.task_id, task.map_index, it.attempt, it.phase, it.outcome, it.error, it.handle,
           it.queued_at, it.started_at, it.ended_at, process.hostname AS worker,
           work.progress, work.figures,
           it.task_instance_id, it.pool, it.pool_slots, it.queue,
           CASE WHEN process.ended_at IS NULL THEN process.http_address END AS log_address
      FROM dag_run AS run
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN task_attempt AS it ON it.task_instance_id = task.id
      LEFT JOIN process ON process.id = it.process_id
      LEFT JOIN spark_work AS work ON work.task_instance_id = it.task_instance_id
                                  AND work.attempt = it.attempt
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND task.task_id = :task_id AND task.map_index = :map_index
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:attempt AS int) IS NULL OR it.attempt = :attempt)
       AND CASE WHEN CAST(:last AS int) IS NULL THEN true
                WHEN :descending THEN it.attempt < :last
                ELSE it.attempt > :last END
     ORDER BY CASE WHEN :descending THEN it.attempt END DESC,
              CASE WHEN NOT :descending THEN it.attempt END
     LIMIT :limit
""")


@dataclass(frozen=True, slots=True)
class InstanceName:
    """Which task instance is meant; `map_index` is -1 unless the task is mapped."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int = -1


@dataclass(frozen=True, slots=True)
class ListedAttempt:
    """An attempt of a task instance, with the number of the instance and what the attempt took.

    `log_address` is the host:port at which its worker serves logs, None if the worker has ended or
    serves none.
    """

    task_instance_id: int
    attempt: AttemptView
    pool: str
    pool_slots: int
    queue: str
    log_address: str | None


def page(conn: Connection, asked: Asked, of: InstanceName) -> ListPage[ListedAttempt]:
    """Return a page of the attempts of a task instance, by number."""
    listing = PagedList("attempts", (int,), "attempt", asked.descending, asdict(of))
    (last,) = listing.key(asked.cursor) or (None,)
    parameters = {
        **asdict(of),
        "bundles": paging.as_list(asked.bundles),
        "attempt": None,
        "last": last,
        "descending": asked.descending,
        "limit": asked.limit + 1,
    }
    found = [_listed(dict(row)) for row in conn.execute(PAGE, parameters).mappings()]
    return paging.listed(found, asked.limit, listing, lambda row: (row.attempt.attempt,))


def one(
    conn: Connection, bundles: Sequence[str] | None, of: InstanceName, number: int
) -> ListedAttempt | None:
    """Return that attempt of a task instance; None when there is none of that number."""
    parameters = {
        **asdict(of),
        "bundles": paging.as_list(bundles),
        "attempt": number,
        "last": None,
        "descending": False,
        "limit": 1,
    }
    row = conn.execute(PAGE, parameters).mappings().one_or_none()
    return None if row is None else _listed(dict(row))


def _listed(fields: dict[str, Any]) -> ListedAttempt:
    names = ("task_instance_id", "pool", "pool_slots", "queue", "log_address")
    own = {name: fields.pop(name) for name in names}
    outcome = fields["outcome"] and Outcome(fields["outcome"])
    kinds = {"phase": Phase(fields["phase"]), "outcome": outcome}
    return ListedAttempt(attempt=AttemptView(**{**fields, **kinds}), **own)
