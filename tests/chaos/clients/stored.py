"""What the database has, in the end, of all that clients wanted."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Engine, text
from tests.chaos.clients.exchange import ASKED

RUNS: Final = text("""
    SELECT run_id, state, conf ->> 'key' AS key
      FROM dag_run WHERE dag_id = :dag ORDER BY schedule_date DESC, id DESC
""")
JOURNAL: Final = text("""
    SELECT action, coalesce(details ->> 'reason', details ->> 'slots', '') AS mark, count(*)
      FROM event WHERE actor = :actor GROUP BY 1, 2
""")
SLOTS: Final = text("SELECT slots FROM pool WHERE name = :pool")

SHOWN_RUNS: Final = 25
"""Of how many of the latest runs the topic of a DAG tells."""


@dataclass(frozen=True, slots=True)
class AskedRun:
    """A run that a client has asked for."""

    run_id: str
    state: str
    key: str | None


@dataclass(frozen=True, slots=True)
class Stored:
    """The runs, the latest first, the journal of one actor by action and mark, and the pool."""

    runs: Sequence[AskedRun]
    journal: Counter[tuple[str, str]]
    slots: int

    def topics(self) -> dict[str, dict[str, Mapping[str, Any]]]:
        """Return what a stream tells in the end: some members of some entries of each topic."""
        latest = self.runs[:SHOWN_RUNS]
        runs = {f"run/{run.run_id}": {"state": run.state} for run in latest}
        return {
            "home": {"counts": {"running": 0, "queued": 0}},
            f"dag:{ASKED}": {"dag": {"paused": False, "queued": 0}, **runs},
            "pools": {f"pool/{ASKED}": {"slots": self.slots}},
        }


def read_stored(engine: Engine, actor: str) -> Stored:
    """Read all of it."""
    with engine.connect() as conn:
        runs = [AskedRun(*row) for row in conn.execute(RUNS, {"dag": ASKED})]
        found = conn.execute(JOURNAL, {"actor": actor})
        journal = Counter({(row.action, row.mark): row.count for row in found})
        return Stored(runs, journal, conn.execute(SLOTS, {"pool": ASKED}).scalar() or 0)
