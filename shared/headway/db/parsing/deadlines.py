"""SQL that stores the deadlines of new versions."""

from collections.abc import Iterable

from sqlalchemy import Connection, text

from headway.domain.dag.spec import DagSpec

ADD_OF_VERSIONS = text("""
    INSERT INTO dag_deadline (version_id, task_id, name, reference, seconds, at, backfills)
    SELECT it.*
      FROM unnest(CAST(:version_ids AS bigint[]), CAST(:task_ids AS text[]),
                  CAST(:names AS text[]), CAST(:refs AS text[]),
                  CAST(:seconds AS float8[]), CAST(:dates AS timestamptz[]),
                  CAST(:backfills AS bool[])) AS it
""")


def add_of_versions(conn: Connection, specs: Iterable[tuple[int, DagSpec]]) -> None:
    """Store the deadlines of new versions as rows; nothing is done where there are none."""
    found = [
        (version, task_id, its)
        for version, spec in specs
        for task_id, given in [
            (None, spec.deadlines),
            *((task.task_id, task.slas) for task in spec.tasks),
        ]
        for its in given
    ]
    if not found:
        return
    conn.execute(
        ADD_OF_VERSIONS,
        {
            "version_ids": [version for version, _, _ in found],
            "task_ids": [task_id for _, task_id, _ in found],
            "names": [its.name for _, _, its in found],
            "refs": [str(its.reference) for _, _, its in found],
            "seconds": [its.seconds for _, _, its in found],
            "dates": [its.at for _, _, its in found],
            "backfills": [its.backfills for _, _, its in found],
        },
    )
