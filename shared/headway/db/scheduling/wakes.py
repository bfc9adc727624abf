"""SQL on wakes: facts about runs that the scheduler has not settled.

A wake is written in the transaction of the change itself, so none is ever lost.
It is deleted by whoever has locked its run, in the statement that reads it: what
is deleted was committed before the reading, what comes later stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Connection, text

from headway.db.core.prepared import hot
from headway.decide.scheduling.grouped_advance import Ended
from headway.domain.states import TaskState

ADD = text("INSERT INTO wake (dag_run_id) SELECT unnest(CAST(:runs AS bigint[]))")

TAKE = hot("""
    WITH taken AS (
        DELETE FROM wake WHERE dag_run_id = ANY (:runs) RETURNING dag_run_id, task_id, state, skips
    )
    SELECT dag_run_id, task_id, state, count(*) AS instances,
           coalesce(bool_or(skips <> '{}'), false) AS skips
      FROM taken
     GROUP BY dag_run_id, task_id, state
""")

# The same instance by instance; one that a user has cleared meanwhile may be gone.  LIMIT has
# each looked up by its key: a plan for many wakes would otherwise read all of history for one.
TAKE_EACH = hot("""
    WITH taken AS (
        DELETE FROM wake WHERE dag_run_id = ANY (:runs)
     RETURNING dag_run_id, task_id, state, skips, task_instance_id
    )
    SELECT taken.dag_run_id, taken.task_id, taken.state, taken.skips, task.map_index
      FROM taken
      LEFT JOIN LATERAL (SELECT map_index FROM task_instance
                          WHERE id = taken.task_instance_id LIMIT 1) AS task ON true
""")


@dataclass(slots=True)
class Facts:
    """What has happened in a run: how many instances of which tasks ended in which state.

    `whole` tells that counts are not enough: the run is to be looked at as a whole.
    """

    ended: dict[str, dict[TaskState, int]] = field(default_factory=dict)
    whole: bool = False

    @property
    def instances(self) -> int:
        """How many task instances have ended."""
        return sum(number for states in self.ended.values() for number in states.values())


@dataclass(slots=True)
class EachFact:
    """What has happened in a run with mapped groups: which instances have ended.

    `whole` tells that the run is to be looked at as a whole.
    """

    ended: list[Ended] = field(default_factory=list)
    whole: bool = False


def add(conn: Connection, runs: Sequence[int]) -> None:
    """Ask for these runs to be looked at as a whole."""
    conn.execute(ADD, {"runs": list(runs)})


def take(conn: Connection, runs: Sequence[int]) -> dict[int, Facts]:
    """Remove and return the facts about runs that this transaction has locked."""
    facts = {run: Facts() for run in runs}
    for row in conn.execute(TAKE, {"runs": list(runs)}):
        run = facts[row.dag_run_id]
        if row.task_id is None or row.skips:
            run.whole = True
        else:
            run.ended.setdefault(row.task_id, {})[TaskState(row.state)] = row.instances
    return facts


def take_each(conn: Connection, runs: Sequence[int]) -> dict[int, EachFact]:
    """Remove and return the facts about locked runs with mapped groups, instance by instance."""
    facts = {run: EachFact() for run in runs}
    for row in conn.execute(TAKE_EACH, {"runs": list(runs)}):
        run = facts[row.dag_run_id]
        if row.task_id is None or row.map_index is None:
            run.whole = True
        else:
            ended = Ended(row.task_id, row.map_index, TaskState(row.state), row.skips or ())
            run.ended.append(ended)
    return facts
