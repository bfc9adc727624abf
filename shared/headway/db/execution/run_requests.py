"""SQL on runs that attempts ask for: a request is written once, and a scheduler answers it."""

from json import dumps

from sqlalchemy import Connection, text

from headway.db.core import attempt_keys
from headway.db.core.attempt_keys import AttemptKey
from headway.domain.dag.run_request import RequestAnswer, RunAnswer, RunWanted

# Only the attempt that holds the token may ask, and not after it was told to stop.
ASK = text("""
    INSERT INTO run_request (task_instance_id, attempt, number, dag_id, run_id, logical_date, conf,
                             reset, unless_paused, waits, note)
    SELECT task_instance_id, attempt, :number, :dag_id, :run_id,
           CAST(:logical_date AS timestamptz), CAST(:conf AS json), :reset, :unless_paused, :waits,
           :note
      FROM task_attempt
     WHERE task_instance_id = :task_id AND attempt = :attempt AND token = :token
       AND phase = 'running'
        ON CONFLICT (task_instance_id, attempt, number) DO NOTHING
""")

ANSWER = text("""
    SELECT request.answer, request.answer_run_id, request.reason
      FROM run_request AS request
      JOIN task_attempt AS it
        ON it.task_instance_id = request.task_instance_id AND it.attempt = request.attempt
     WHERE request.task_instance_id = :task_id AND request.attempt = :attempt
       AND request.number = :number AND it.token = :token
""")


def ask(conn: Connection, key: AttemptKey, number: int, wanted: RunWanted) -> bool:
    """Ask for a run; False when it was asked for before, or the attempt may not ask any more."""
    asked = conn.execute(
        ASK,
        {
            **attempt_keys.parameters(key),
            "number": number,
            "dag_id": wanted.dag_id,
            "run_id": wanted.run_id,
            "logical_date": wanted.logical_date,
            "conf": dumps(dict(wanted.conf)),
            "reset": wanted.reset,
            "unless_paused": wanted.unless_paused,
            "waits": wanted.waits,
            "note": wanted.note,
        },
    )
    return asked.rowcount > 0


def answer(conn: Connection, key: AttemptKey, number: int) -> tuple[RunAnswer | None] | None:
    """Return the answer to a request in a tuple, None in it before there is one.

    None when the attempt has not made that request.
    """
    row = conn.execute(ANSWER, {**attempt_keys.parameters(key), "number": number}).one_or_none()
    if row is None:
        return None
    if row.answer is None:
        return (None,)
    return (RunAnswer(RequestAnswer(row.answer), row.answer_run_id, row.reason),)
