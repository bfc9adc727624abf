"""SQL that enters the deadlines of a run: by whoever gives the run its version."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from headway.decide.scheduling.deadlines import PATIENCE, SHORTEST_LOOK

# A run of a schedule is due at its date, any other one when it is created, unless its date is
# to come.  One counted from the start cannot be over before so many seconds from now.
ENTER = text("""
    INSERT INTO deadline (dag_run_id, task_id, name, due_at, check_at)
    SELECT run.id, its.task_id, its.name, due.at,
           coalesce(due.at + make_interval(secs => :patience),
                    now() + make_interval(secs => greatest(its.seconds, :shortest)))
      FROM dag_run AS run
      JOIN dag_deadline AS its ON its.version_id = run.version_id
     CROSS JOIN LATERAL (
           SELECT make_interval(secs => its.seconds) + CASE its.reference
                  WHEN 'due' THEN
                      CASE WHEN run.run_type = 'scheduled' AND run.backfill_id IS NULL
                           THEN run.schedule_date
                           ELSE greatest(run.schedule_date, run.created_at) END
                  WHEN 'queued' THEN run.created_at
                  WHEN 'fixed' THEN its.at END AS at) AS due
     WHERE run.id = ANY (:runs) AND run.state = 'queued'
       AND (its.backfills OR run.backfill_id IS NULL)
       AND NOT (its.reference = 'fixed' AND due.at < run.created_at)
     ORDER BY run.id
        ON CONFLICT DO NOTHING
""")


BY_NAME = text("""
    SELECT run.id
      FROM unnest(CAST(:dag_ids AS text[]), CAST(:run_ids AS text[])) AS it (dag_id, run_id)
      JOIN dag_run AS run ON run.dag_id = it.dag_id AND run.run_id = it.run_id
""")


def enter(conn: Connection, runs: Sequence[int]) -> None:
    """Enter the deadlines of queued runs, as their versions have them; those there are stay."""
    if runs:
        limits = {"patience": PATIENCE.total_seconds(), "shortest": SHORTEST_LOOK}
        conn.execute(ENTER, {"runs": list(runs), **limits})


def enter_named(conn: Connection, names: Sequence[tuple[str, str]]) -> None:
    """Enter the deadlines of queued runs by DAG and run id, in the transaction that creates them.

    Call it only for DAGs that have some: others cost nothing.
    """
    if names:
        parameters = {
            "dag_ids": [dag_id for dag_id, _ in names],
            "run_ids": [run_id for _, run_id in names],
        }
        enter(conn, list(conn.scalars(BY_NAME, parameters)))
