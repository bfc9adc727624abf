"""Runs that stand as a test wants them, however they could have come there."""

from typing import Final

from sqlalchemy import Connection, Engine, text

from headway.db.core.attempt_keys import AttemptKey
from headway.domain.states import TERMINAL, Phase, TaskState

PHASES: Final = {
    TaskState.QUEUED: Phase.QUEUED,
    TaskState.RUNNING: Phase.RUNNING,
    TaskState.RESTARTING: Phase.STOPPING,
}
"""The phase of the live attempt, in the states that have one."""

UNGUARDED: Final = text("SET LOCAL session_replication_role = replica")

EXPAND: Final = text("""
    WITH first AS (
        UPDATE task_instance SET map_index = 0
         WHERE dag_run_id = :run AND task_id = :task_id AND map_index = -1
     RETURNING *
    )
    INSERT INTO task_instance (dag_run_id, dag_id, task_id, map_index, pool, pool_slots, queue,
                               priority)
    SELECT dag_run_id, dag_id, task_id, map_index.map_index, pool, pool_slots, queue, priority
      FROM first
     CROSS JOIN LATERAL generate_series(1, :length - 1) AS map_index (map_index)
""")

PUT: Final = text("""
    UPDATE task_instance
       SET state = :state,
           attempt = attempt + CASE WHEN :attempted THEN 1 ELSE 0 END,
           started_at = CASE WHEN :attempted THEN now() END,
           ended_at = CASE WHEN :ended THEN now() END,
           retry_at = CASE WHEN :state = 'up_for_retry' THEN now() + interval '1 hour' END
     WHERE id = (SELECT id FROM task_instance
                  WHERE dag_run_id = :run AND task_id = :task_id
                  ORDER BY map_index OFFSET :nth LIMIT 1)
 RETURNING id, attempt, dag_id, pool, pool_slots, queue
""")

ATTEMPT: Final = text("""
    INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots, queue,
                              rank, queued_at, token, process_id, claimed_until, started_at,
                              ended_at, outcome, stop_to)
    SELECT :id, :attempt, :phase, :dag_id, :pool, :pool_slots, :queue, 0, now(),
           CASE WHEN begun THEN gen_random_uuid() END, CASE WHEN begun THEN 0 END,
           CASE WHEN begun THEN now() + interval '1 minute' END, CASE WHEN begun THEN now() END,
           CASE WHEN :phase = 'ended' THEN now() END,
           CASE WHEN :phase = 'ended' THEN 'success' END,
           CASE WHEN :phase = 'stopping' THEN 'none' END
      FROM (SELECT :phase <> 'queued') AS it (begun)
 RETURNING token
""")

_ATTEMPTED: Final = frozenset(
    {*PHASES, TaskState.SUCCESS, TaskState.FAILED, TaskState.UP_FOR_RETRY, TaskState.DEFERRED}
)


def force(engine: Engine, run: int, **states: str) -> dict[str, AttemptKey]:
    """Put tasks of a started run into these states, and return the live attempts by their task.

    Several states ("success failed") make so many instances of a mapped task, whose attempts
    are called "work[1]".
    """
    keys: dict[str, AttemptKey] = {}
    with engine.begin() as conn:
        conn.execute(UNGUARDED)
        for task_id, listed in states.items():
            several = [TaskState(state) for state in listed.split()]
            if len(several) > 1:
                expand = {"run": run, "task_id": task_id, "length": len(several)}
                conn.execute(EXPAND, expand)
            for nth, state in enumerate(several):
                name = f"{task_id}[{nth}]" if len(several) > 1 else task_id
                key = _put(conn, run, task_id, nth, state)
                if key is not None:
                    keys[name] = key
    return keys


def _put(conn: Connection, run: int, task_id: str, nth: int, state: TaskState) -> AttemptKey | None:
    row = conn.execute(
        PUT,
        {
            "run": run,
            "task_id": task_id,
            "nth": nth,
            "state": str(state),
            "attempted": state in _ATTEMPTED,
            "ended": state in TERMINAL,
        },
    ).mappings()
    if state not in _ATTEMPTED:
        return None
    task = row.one()
    phase = PHASES.get(state, Phase.ENDED)
    token = conn.scalar(ATTEMPT, {**task, "phase": str(phase)})
    if phase is Phase.ENDED or token is None:
        return None
    return AttemptKey(task["id"], task["attempt"], token)
