"""SQL that enters callbacks and notifications of runs, with what they tell of."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from headway.domain.dag.callbacks import CallbackEvent, RunReason

ADD_NOTIFICATIONS = text("""
    INSERT INTO notified_event (dag_run_id, notifier, event, reason)
    SELECT run.id, its.notifier, it.event, it.reason
      FROM unnest(CAST(:runs AS bigint[]), CAST(:events AS text[]), CAST(:reasons AS text[]))
           AS it (run, event, reason)
      JOIN dag_run AS run ON run.id = it.run
      JOIN dag_notifier AS its ON its.version_id = run.version_id AND its.task_id = ''
                              AND its.event = it.event
""")


# Those of the run are about its tasks' deadlines, too.
ADD_OF_DEADLINES = text("""
    INSERT INTO notified_event (dag_run_id, notifier, event, task_id, reason, cause)
    SELECT DISTINCT ON (it.id, its.notifier) run.id, its.notifier, its.event, it.task_id, it.name,
           to_char(it.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
      FROM deadline AS it
      JOIN dag_run AS run ON run.id = it.dag_run_id
      JOIN dag_notifier AS its ON its.version_id = run.version_id
                              AND its.task_id IN ('', it.task_id) AND its.event = 'missed_deadline'
     WHERE it.id = ANY (:deadlines)
""")


def add_notifications(
    conn: Connection, events: Sequence[tuple[int, CallbackEvent, RunReason]]
) -> None:
    """Enter ends of runs of which notifiers tell, in the transaction that ends these."""
    if events:
        conn.execute(
            ADD_NOTIFICATIONS,
            {
                "runs": [run for run, _, _ in events],
                "events": [str(event) for _, event, _ in events],
                "reasons": [str(reason) for _, _, reason in events],
            },
        )


def add_of_deadlines(conn: Connection, missed: Sequence[int]) -> None:
    """Enter missed deadlines, in the transaction that judges these."""
    if missed:
        conn.execute(ADD_OF_DEADLINES, {"deadlines": list(missed)})


ADD_CALLBACKS = text("""
    INSERT INTO callback (dag_run_id, event, reason)
    SELECT it.* FROM unnest(CAST(:runs AS bigint[]), CAST(:events AS text[]),
                            CAST(:reasons AS text[])) AS it
""")


def add_callbacks(conn: Connection, events: Sequence[tuple[int, CallbackEvent, RunReason]]) -> None:
    """Enter callbacks for the ends of runs, in the transaction that ends these."""
    if not events:
        return
    conn.execute(
        ADD_CALLBACKS,
        {
            "runs": [run for run, _, _ in events],
            "events": [str(event) for _, event, _ in events],
            "reasons": [str(reason) for _, _, reason in events],
        },
    )
