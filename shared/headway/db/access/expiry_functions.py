"""The functions of the owner by which old rows are removed, and nothing else.

Neither schedulers nor users may delete from the journal, and schedulers may delete no run.  They
call `headway_remove`, which runs with the rights of the owner of the tables.  The function removes
only rows of the given ids that ended more than a day ago and that nothing needs, and it enters one
event in the same transaction: who removed how many rows of which time range.  So the journal never
loses entries silently.

`headway_run_keep_reasons` and `headway_process_keep_reasons` say why a run or a process stays.
`headway_remove` calls them again after it has locked the rows.
"""

from hashlib import sha256
from typing import Final

from sqlalchemy import Connection, text

REMOVE: Final = "headway_remove(text, text, bigint[], json)"
RUN_KEEP_REASONS: Final = "headway_run_keep_reasons(bigint[])"
PROCESS_KEEP_REASONS: Final = "headway_process_keep_reasons(bigint[])"
SIGNATURES: Final = (PROCESS_KEEP_REASONS, REMOVE, RUN_KEEP_REASONS)

INSTALLED = text("""
    SELECT bool_and(coalesce(obj_description(to_regprocedure(signature), 'pg_proc'), '') = :version)
      FROM unnest(CAST(:signatures AS text[])) AS signature
""")

HERE = text("SELECT quote_ident(current_schema())")

# The first reason counts.  Which run is the one before an unfinished run is as in
# `run_snapshots.PREVIOUS`; a schedule goes on after the automated run whose interval ends last.
_RUN_KEEP_REASONS: Final = """
CREATE OR REPLACE FUNCTION {schema}.headway_run_keep_reasons(of_ids bigint[])
RETURNS TABLE (id bigint, instances bigint, keep_reason text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $reasons$
    WITH run AS MATERIALIZED (
        SELECT * FROM {schema}.dag_run WHERE dag_run.id = ANY (of_ids)
    ), unfinished AS MATERIALIZED (
        SELECT * FROM {schema}.dag_run
         WHERE state = 'queued' AND dag_id IN (SELECT dag_id FROM run)
         UNION ALL
        SELECT * FROM {schema}.dag_run
         WHERE state = 'running' AND dag_id IN (SELECT dag_id FROM run)
    ), before AS MATERIALIZED (
        SELECT DISTINCT previous.id
          FROM unfinished
         CROSS JOIN LATERAL (
               SELECT prior.id FROM {schema}.dag_run AS prior
                WHERE prior.dag_id = unfinished.dag_id AND prior.run_type <> 'manual'
                  AND (prior.id < unfinished.id OR prior.backfill_id = unfinished.backfill_id)
                  AND (prior.schedule_date, prior.id) < (unfinished.schedule_date, unfinished.id)
                ORDER BY prior.schedule_date DESC, prior.id DESC
                LIMIT 1) AS previous
    )
    SELECT run.id,
           (SELECT count(*) FROM {schema}.task_instance AS task WHERE task.dag_run_id = run.id),
           CASE
               WHEN run.state NOT IN ('success', 'failed')
                    OR EXISTS (SELECT FROM {schema}.task_instance AS task
                                 JOIN {schema}.task_attempt AS it ON it.task_instance_id = task.id
                                WHERE task.dag_run_id = run.id AND it.ended_at IS NULL)
                    OR EXISTS (SELECT FROM {schema}.callback
                                WHERE callback.dag_run_id = run.id AND callback.ended_at IS NULL)
                    OR EXISTS (SELECT FROM {schema}.notified_event AS told
                                 LEFT JOIN {schema}.notification AS its
                                   ON its.id = told.notification_id
                                WHERE told.dag_run_id = run.id AND its.ended_at IS NULL)
                    OR EXISTS (SELECT FROM {schema}.deadline AS its
                                WHERE its.dag_run_id = run.id AND its.state = 'open'
                                  AND its.check_at <= now())
               THEN 'unfinished'
               WHEN NOT EXISTS (SELECT FROM {schema}.dag_run AS later
                                 WHERE later.dag_id = run.dag_id
                                   AND (later.schedule_date, later.id)
                                       > (run.schedule_date, run.id))
                    OR run.run_type <> 'manual'
                       AND NOT EXISTS (SELECT FROM {schema}.dag_run AS later
                                        WHERE later.dag_id = run.dag_id
                                          AND later.run_type <> 'manual'
                                          AND later.interval_end > run.interval_end)
                    OR run.run_type <> 'manual' AND run.state = 'success'
                       AND NOT EXISTS (SELECT FROM {schema}.dag_run AS later
                                        WHERE later.dag_id = run.dag_id
                                          AND later.run_type <> 'manual'
                                          AND later.state = 'success'
                                          AND later.schedule_date > run.schedule_date)
               THEN 'latest'
               WHEN run.id IN (SELECT before.id FROM before) THEN 'past'
               WHEN EXISTS (SELECT FROM {schema}.dag_run AS other
                             WHERE other.backfill_id = run.backfill_id
                               AND other.state IN ('queued', 'running'))
                    OR EXISTS (SELECT FROM {schema}.backfill_date AS planned
                                 JOIN {schema}.dag_run AS other
                                   ON other.backfill_id = planned.backfill_id
                                WHERE planned.dag_run_id = run.id
                                  AND other.state IN ('queued', 'running'))
               THEN 'backfill'
               WHEN EXISTS (SELECT FROM {schema}.task_instance AS task
                              JOIN {schema}.task_attempt AS it
                                ON it.task_instance_id = task.id AND it.attempt = task.attempt
                             WHERE task.dag_run_id = run.id AND it.outcome <> 'success'
                               AND it.handle ->> 'mode' = 'cluster'
                               AND it.handle -> 'ended' IS NULL
                               AND it.handle -> 'refused' IS NULL)
               THEN 'external'
           END
      FROM run
$reasons$;
"""

_PROCESS_KEEP_REASONS: Final = """
CREATE OR REPLACE FUNCTION {schema}.headway_process_keep_reasons(of_ids bigint[])
RETURNS TABLE (id bigint, keep_reason text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $reasons$
    SELECT it.id,
           CASE
               WHEN it.ended_at IS NULL THEN 'unfinished'
               WHEN EXISTS (SELECT FROM {schema}.task_attempt AS its
                             WHERE its.process_id = it.id AND its.ended_at IS NOT NULL)
                    OR EXISTS (SELECT FROM {schema}.task_attempt AS its
                                WHERE its.ended_at IS NULL
                                  AND it.id IN (its.process_id, its.scheduler_id))
                    OR EXISTS (SELECT FROM {schema}.callback AS its WHERE its.process_id = it.id)
                    OR EXISTS (SELECT FROM {schema}.notification AS its
                                WHERE its.process_id = it.id AND its.ended_at IS NULL)
                    OR EXISTS (SELECT FROM {schema}.lease AS its WHERE its.process_id = it.id)
                    OR EXISTS (SELECT FROM {schema}.dag_run AS its WHERE its.lock_id = it.id)
                    OR EXISTS (SELECT FROM {schema}.dag_file AS its
                                WHERE its.parser_id = it.id AND its.claimed)
               THEN 'referenced'
           END
      FROM {schema}.process AS it
     WHERE it.id = ANY (of_ids)
$reasons$;
"""

_REMOVE: Final = """
CREATE OR REPLACE FUNCTION {schema}.headway_remove(
    of_kind text, of_actor text, of_ids bigint[], of_details json
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, {schema}, pg_temp
AS $remove$
DECLARE
    before timestamptz := now() - interval '1 day';
    ids bigint[];
    backfills bigint[];
    kept text[];
    removed bigint := 0;
    instances bigint;
    since timestamptz;
    until timestamptz;
BEGIN
    IF of_actor IS NULL
       OR session_user = 'headway_scheduler' AND of_actor NOT LIKE 'scheduler:%'
       OR session_user IN ('headway_user', 'headway_api')
          AND split_part(of_actor, ':', 1) IN ('backfill', 'parser', 'scheduler', 'worker') THEN
        RAISE EXCEPTION USING ERRCODE = '42501',
            MESSAGE = session_user || ' may not remove rows in the name of '
                      || coalesce(of_actor, 'nobody') || '.';
    END IF;
    CASE of_kind
    WHEN 'events' THEN
        ids := ARRAY(SELECT id FROM {schema}.event WHERE id = ANY (of_ids) AND at < before
                      ORDER BY id FOR UPDATE SKIP LOCKED);
        WITH gone AS (
            DELETE FROM {schema}.event WHERE id = ANY (ids) RETURNING at
        )
        SELECT count(*), min(at), max(at) INTO removed, since, until FROM gone;
    WHEN 'callbacks' THEN
        ids := ARRAY(SELECT id FROM {schema}.callback
                      WHERE id = ANY (of_ids) AND ended_at < before
                      ORDER BY id FOR UPDATE SKIP LOCKED);
        WITH gone AS (
            DELETE FROM {schema}.callback WHERE id = ANY (ids) RETURNING ended_at AS at
        )
        SELECT count(*), min(at), max(at) INTO removed, since, until FROM gone;
    WHEN 'processes' THEN
        ids := ARRAY(SELECT id FROM {schema}.process
                      WHERE id = ANY (of_ids) AND ended_at < before
                      ORDER BY id FOR UPDATE SKIP LOCKED);
        ids := ARRAY(SELECT its.id FROM {schema}.headway_process_keep_reasons(ids) AS its
                      WHERE its.keep_reason IS NULL);
        WITH gone AS (
            DELETE FROM {schema}.process WHERE id = ANY (ids) RETURNING ended_at AS at
        )
        SELECT count(*), min(at), max(at) INTO removed, since, until FROM gone;
    WHEN 'runs' THEN
        backfills := ARRAY(
            SELECT id FROM {schema}.backfill
             WHERE id IN (SELECT backfill_id FROM {schema}.dag_run WHERE dag_run.id = ANY (of_ids))
             ORDER BY id FOR NO KEY UPDATE SKIP LOCKED);
        ids := ARRAY(
            SELECT id FROM {schema}.dag_run
             WHERE id = ANY (of_ids) AND state IN ('success', 'failed') AND ended_at < before
               AND (backfill_id IS NULL OR backfill_id = ANY (backfills))
             ORDER BY id FOR UPDATE SKIP LOCKED);
        -- Nobody may delete the latest run of a DAG while this makes it the only one.
        kept := ARRAY(
            SELECT dag_id FROM {schema}.dag_run
             WHERE id IN (SELECT latest.id
                            FROM (SELECT DISTINCT dag_id FROM {schema}.dag_run
                                   WHERE dag_run.id = ANY (ids)) AS dag
                           CROSS JOIN LATERAL (
                                 SELECT its.id FROM {schema}.dag_run AS its
                                  WHERE its.dag_id = dag.dag_id
                                  ORDER BY its.schedule_date DESC, its.id DESC
                                  LIMIT 1) AS latest)
             ORDER BY id FOR KEY SHARE SKIP LOCKED);
        SELECT coalesce(array_agg(its.id), '{{}}'), coalesce(sum(its.instances), 0)
          INTO ids, instances
          FROM {schema}.headway_run_keep_reasons(ids) AS its
          JOIN {schema}.dag_run AS run ON run.id = its.id
         WHERE its.keep_reason IS NULL AND run.dag_id = ANY (kept);
        DELETE FROM {schema}.lease
         USING {schema}.task_instance AS task
         WHERE lease.task_instance_id = task.id AND task.dag_run_id = ANY (ids);
        DELETE FROM {schema}.wake WHERE dag_run_id = ANY (ids);
        WITH gone AS (
            DELETE FROM {schema}.dag_run WHERE id = ANY (ids) RETURNING backfill_id, ended_at AS at
        ), counted AS (
            UPDATE {schema}.backfill SET planned = planned - its.runs
              FROM (SELECT backfill_id, count(*) AS runs FROM gone GROUP BY backfill_id) AS its
             WHERE backfill.id = its.backfill_id
        )
        SELECT count(*), min(at), max(at) INTO removed, since, until FROM gone;
    END CASE;
    IF removed > 0 THEN
        INSERT INTO {schema}.event (actor, action, dag_id, details)
        VALUES (of_actor, 'db.clean', of_details ->> 'dag_id',
                CAST(CAST(of_details AS jsonb) - 'dag_id'
                     || jsonb_build_object('kind', of_kind, 'removed', removed, 'from', since,
                                           'to', until, 'role', session_user)
                     || CASE WHEN of_kind = 'runs'
                             THEN jsonb_build_object('task_instances', instances)
                             ELSE '{{}}' END AS json));
    END IF;
    RETURN removed;
END
$remove$;
"""

_BODIES: Final = f"{_RUN_KEEP_REASONS}{_PROCESS_KEEP_REASONS}{_REMOVE}"

_VERSION: Final = sha256(_BODIES.encode()).hexdigest()[:16]


def install(conn: Connection) -> None:
    """Put the functions of this release in place; nothing if they are there."""
    parameters = {"version": _VERSION, "signatures": list(SIGNATURES)}
    if conn.scalar(INSTALLED, parameters):
        return
    schema = conn.scalar(HERE)
    statements = _BODIES.format(schema=schema)
    for signature in SIGNATURES:
        function = f"{schema}.{signature}"
        statements += f"REVOKE ALL ON FUNCTION {function} FROM PUBLIC;\n"
        statements += f"COMMENT ON FUNCTION {function} IS '{_VERSION}';\n"
    conn.exec_driver_sql(statements.replace("%", "%%"))
