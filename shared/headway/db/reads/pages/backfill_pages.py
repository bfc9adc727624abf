"""Backfills, of one DAG or of all, page by page.  Reads only."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from headway.db.reads import backfill_views
from headway.db.reads.backfill_views import BackfillProgress
from headway.db.reads.pages import paging
from headway.db.reads.pages.cursors import PagedList
from headway.db.reads.pages.paging import Asked, ListPage

KEYS = text("""
    SELECT backfill.id, dag.bundle,
           (SELECT max(ended_at) FROM dag_run WHERE backfill_id = backfill.id) AS last_ended_at
      FROM backfill
      JOIN dag ON dag.dag_id = backfill.dag_id
     WHERE (CAST(:bundles AS text[]) IS NULL OR dag.bundle = ANY (CAST(:bundles AS text[])))
       AND (CAST(:dag_id AS text) IS NULL OR backfill.dag_id = :dag_id)
       AND CASE WHEN CAST(:last AS bigint) IS NULL THEN true
                WHEN :descending THEN backfill.id < :last
                ELSE backfill.id > :last END
     ORDER BY CASE WHEN :descending THEN backfill.id END DESC,
              CASE WHEN NOT :descending THEN backfill.id END
     LIMIT :limit
""")
