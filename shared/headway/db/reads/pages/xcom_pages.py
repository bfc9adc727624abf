"""XComs of task instances page by page, without their values.  Reads only."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection, text

from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import Key, PagedList
from headway.db.reads.pages.paging import ALWAYS, Asked, CappedTotal, ListPage, Looked, TimeRange
from headway.domain.arguments import JsonValue

# As everywhere, only what the last attempt has left is there.  A task instance without an XCom is
# a row that matches nothing: so a stretch has an end however few tasks leave any.
KEYS = text("""
    WITH found AS (
        SELECT dag_run_id, id, key, matches, number = :rows AS is_end
          FROM (SELECT dag_run_id, id, key, row_number() OVER () AS number,
                       key <> ''
                       AND (CAST(:bundles AS text[]) IS NULL
                            OR (SELECT bundle FROM dag WHERE dag.dag_id = entry.dag_id)
                               = ANY (CAST(:bundles AS text[])))
                       AND (CAST(:run_id_like AS text) IS NULL OR run_id ILIKE :run_id_like)
                       AND (CAST(:task_id AS text) IS NULL OR task_id = :task_id)
                       AND (CAST(:task_id_like AS text) IS NULL OR task_id ILIKE :task_id_like)
                       AND (CAST(:map_index AS int) IS NULL OR map_index = :map_index)
                       AND (CAST(:key AS text) IS NULL OR key = :key)
                       AND (CAST(:key_like AS text) IS NULL OR key ILIKE :key_like)
                       AND (CAST(:after_start AS timestamptz) IS NULL OR run_after >= :after_start)
                       AND (CAST(:after_end AS timestamptz) IS NULL OR run_after < :after_end)
                       AND (CAST(:date_start AS timestamptz) IS NULL
                            OR logical_date >= :date_start)
                       AND (CAST(:date_end AS timestamptz) IS NULL OR logical_date < :date_end)
                       AS matches
                  FROM (SELECT task.dag_run_id, task.id, coalesce(xcom.key, '') AS key, task.dag_id,
                               task.task_id, task.map_index, run.run_id, run.run_after,
                               CASE WHEN run.run_type = 'manual' THEN run.schedule_date
                                    ELSE run.interval_start END AS logical_date
                          FROM dag_run AS run
                          JOIN task_instance AS task ON task.dag_run_id = run.id
                          LEFT JOIN LATERAL (
                               SELECT xcom.key
                                 FROM xcom
                                WHERE xcom.task_instance_id = task.id
                                  AND xcom.attempt = task.attempt
                               OFFSET 0) AS xcom ON true
                         WHERE (CAST(:dag_id AS text) IS NULL OR run.dag_id = :dag_id)
                           AND (CAST(:run_id AS text) IS NULL OR run.run_id = :run_id)
                           AND CASE WHEN CAST(:last_run AS bigint) IS NULL THEN true
                                    WHEN :descending THEN run.id <= :last_run
                                    ELSE run.id >= :last_run END
                           AND CASE WHEN CAST(:last_run AS bigint) IS NULL THEN true
                                    WHEN :descending
                                    THEN (task.dag_run_id, task.id) <= (:last_run, :last_id)
                                    ELSE (task.dag_run_id, task.id) >= (:last_run, :last_id) END
                           AND CASE WHEN CAST(:last_run AS bigint) IS NULL THEN true
                                    WHEN :descending
                                    THEN (task.dag_run_id, task.id, coalesce(xcom.key, ''))
                                         < (:last_run, :last_id, :last_key)
                                    ELSE (task.dag_run_id, task.id, coalesce(xcom.key, ''))
                                         > (:last_run, :last_id, :last_key) END
                         ORDER BY CASE WHEN :descending THEN task.dag_run_id END DESC,
                                  CASE WHEN :descending THEN task.id END DESC,
                                  CASE WHEN :descending THEN coalesce(xcom.key, '') END DESC,
                                  CASE WHEN NOT :descending THEN task.dag_run_id END,
                                  CASE WHEN NOT :descending THEN task.id END,
                                  CASE WHEN NOT :descending THEN coalesce(xcom.key, '') END
                         LIMIT :rows) AS entry) AS looked
         WHERE matches OR number = :rows
         LIMIT :most
    )
    SELECT dag_run_id, id, key, matches, is_end, matching
      FROM (SELECT *, count(*) FILTER (WHERE matches) OVER () AS matching,
                   row_number() OVER () AS nth, count(*) OVER () AS last
              FROM found) AS counted
     WHERE nth <= :shown OR nth = last
""")

ROWS = text("""
    SELECT run.dag_id, run.run_id, task.task_id, task.map_index, xcom.attempt, xcom.key,
           xcom.length, run.run_after, attempt.ended_at, task.id,
           CASE WHEN run.run_type = 'manual' THEN run.schedule_date
                ELSE run.interval_start END AS logical_date
      FROM task_instance AS task
      JOIN dag_run AS run ON run.id = task.dag_run_id
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN xcom ON xcom.task_instance_id = task.id AND xcom.attempt = task.attempt
      JOIN task_attempt AS attempt ON attempt.task_instance_id = task.id
                                  AND attempt.attempt = task.attempt
     WHERE task.id = ANY (:ids)
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
""")

VALUE = text("""
    SELECT xcom.value
      FROM dag_run AS run
      JOIN dag ON dag.dag_id = run.dag_id
      JOIN task_instance AS task ON task.dag_run_id = run.id
      JOIN xcom ON xcom.task_instance_id = task.id AND xcom.attempt = task.attempt
     WHERE run.dag_id = :dag_id AND run.run_id = :run_id
       AND task.task_id = :task_id AND task.map_index = :map_index AND xcom.key = :key
       AND (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
""")


@dataclass(frozen=True, slots=True)
class XComFilter:
    """Which XComs are wanted; None is any.  What ends in `_like` is an ILIKE pattern."""

    dag_id: str | None = None
    run_id: str | None = None
    run_id_like: str | None = None
    task_id: str | None = None
    task_id_like: str | None = None
    map_index: int | None = None
    key: str | None = None
    key_like: str | None = None
    run_after: TimeRange = ALWAYS
    logical_date: TimeRange = ALWAYS


@dataclass(frozen=True, slots=True)
class ListedXCom:
    """What the last attempt of a task instance has left under a key; its value is read alone.

    `length` counts the elements of a list or the entries of a dictionary, None for other values.
    `ended_at` is when the attempt ended, None while it runs.
    """

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    attempt: int
    key: str
    length: int | None
    run_after: datetime
    logical_date: datetime
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class XComName:
    """Which XCom is meant: the key, and the task instance whose last attempt has left it."""

    dag_id: str
    run_id: str
    task_id: str
    map_index: int
    key: str


ANY_XCOM: Final = XComFilter()
_RANGES: Final = {"after": "run_after", "date": "logical_date"}


def page(conn: Connection, asked: Asked, wanted: XComFilter = ANY_XCOM) -> ListPage[ListedXCom]:
    """Return a page of the XComs that are wanted, by run and task instance, then by key."""
    listing = PagedList("xcoms", (int, int, str), "created", asked.descending, asdict(wanted))
    look = _XComSearch(conn, asked, wanted).look
    found = paging.search(look, listing.key(asked.cursor), asked.limit, counted=asked.counted)
    rows = _rows(conn, asked.bundles, found.keys)
    return ListPage(rows, listing.following(found.following), total=found.total)


def total(
    conn: Connection, bundles: Sequence[str] | None, wanted: XComFilter = ANY_XCOM
) -> CappedTotal:
    """Count the XComs that are wanted."""
    look = _XComSearch(conn, Asked(bundles, descending=True), wanted).look
    return paging.count(look)


def value(
    conn: Connection, bundles: Sequence[str] | None, name: XComName
) -> tuple[JsonValue] | None:
    """Return the value of an XCom in a tuple; None when there is no such XCom."""
    asked = {**asdict(name), "bundles": paging.as_list(bundles)}
    row = conn.execute(VALUE, asked).one_or_none()
    return None if row is None else (row.value,)


@dataclass(frozen=True, slots=True)
class _XComSearch:
    """Looks for the XComs that are wanted."""

    conn: Connection
    asked: Asked
    wanted: XComFilter

    def look(self, after: Key | None, rows: int, most: int, shown: int) -> Looked:
        last_run, last, key = after or (None, None, None)
        fields = {name: getattr(self.wanted, name) for name in XComFilter.__dataclass_fields__}
        for name, field in _RANGES.items():
            limits: TimeRange = fields.pop(field)
            fields |= {f"{name}_start": limits.start, f"{name}_end": limits.end}
        parameters = {
            **fields,
            "bundles": paging.as_list(self.asked.bundles),
            "descending": self.asked.descending,
            "rows": rows,
            "most": most,
            "shown": shown,
            "last_run": last_run,
            "last_id": last,
            "last_key": key,
        }
        found = self.conn.execute(KEYS, parameters).all()
        matching = found[-1].matching if found else 0
        keys: list[Key] = [
            (row.dag_run_id, row.id, row.key) for row in found[:shown] if row.matches
        ]
        if not found or not found[-1].is_end:
            return Looked(keys, matching, None)
        return Looked(keys, matching, (found[-1].dag_run_id, found[-1].id, found[-1].key))


def _rows(conn: Connection, bundles: Sequence[str] | None, keys: Sequence[Key]) -> list[ListedXCom]:
    """Return the XComs of these keys, in that order, as far as they are still there."""
    asked = {"ids": [key[1] for key in keys], "bundles": paging.as_list(bundles)}
    found = {}
    for row in conn.execute(ROWS, asked).mappings() if keys else ():
        fields = dict(row)
        task = fields.pop("id")
        found[task, row["key"]] = ListedXCom(**fields)
    return [found[key[1], key[2]] for key in keys if (key[1], key[2]) in found]
