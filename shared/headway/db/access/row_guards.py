"""Guards that are about whole rows and not about a move: triggers, as those of `guards`."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from headway.db.access.logins import Login
from headway.domain.states import Phase, TaskState

ILLEGAL: Final = "ZX001"
"""The SQLSTATE of a refusal."""

# A row check lets a worker write what is queued, so that it can claim it.
_COUNTS: Final = """
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = '{illegal}',
        MESSAGE = session_user || ' may not change the counts of task instance ' || OLD.id
                  || ', which is queued.',
        HINT = 'headway/db/access/row_guards.py says who changes what.';
END
"""

_ENDED: Final = """
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = '{illegal}',
        MESSAGE = session_user || ' may not rewrite attempt ' || OLD.attempt || ' of '
                  || OLD.task_instance_id || ', which has ended.',
        HINT = 'headway/db/access/row_guards.py says who changes what.';
END
"""

# Names of tables are looked up in the schema of this one, whatever the session's path says.
_DEACTIVATION: Final = """
DECLARE
    is_stored boolean;
BEGIN
    EXECUTE format('SELECT EXISTS (SELECT FROM %1$I.dag_file AS file '
                   'WHERE file.bundle = $1 AND file.relative_path = $2 '
                   'AND NOT (file.claimed AND file.parser_id IS NOT DISTINCT FROM '
                   '(SELECT id FROM %1$I.headway_current_process)))', TG_TABLE_SCHEMA)
       INTO is_stored USING OLD.bundle, OLD.relative_path;
    IF is_stored THEN
        RAISE EXCEPTION USING
            ERRCODE = '{illegal}',
            MESSAGE = session_user || ' may not deactivate DAG ' || OLD.dag_id
                      || ': this parser neither parses nor has forgotten its file.',
            HINT = 'headway/db/access/row_guards.py says who changes what.';
    END IF;
    RETURN NEW;
END
"""


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger of a guard, as SQL; `version` changes with everything that it does."""

    name: str
    table: str
    when: str
    body: str

    @property
    def version(self) -> str:
        """Tell this trigger from those of other releases."""
        return sha256(f"{self.when}{self.body}".encode()).hexdigest()[:16]


def triggers() -> list[Trigger]:
    """Return the triggers of this release."""
    return [_on_counts(), _on_ended(), _on_deactivation()]


def _on_counts() -> Trigger:
    # A claim names none of these columns: its rows do not come to this guard.
    table, name = "task_instance", "task_instance_counts"
    when = (
        f"UPDATE OF failures, losses ON {table} FOR EACH ROW "
        f"WHEN (OLD.state = '{TaskState.QUEUED}' AND session_user = '{Login.WORKER}')"
    )
    return Trigger(name, table, when, _COUNTS.format(illegal=ILLEGAL))


def _on_ended() -> Trigger:
    table, name = "task_attempt", "task_attempt_ended"
    when = (
        f"UPDATE ON {table} FOR EACH ROW "
        f"WHEN (OLD.phase = '{Phase.ENDED}' AND session_user = '{Login.WORKER}')"
    )
    return Trigger(name, table, when, _ENDED.format(illegal=ILLEGAL))


def _on_deactivation() -> Trigger:
    table, name = "dag", "dag_deactivations"
    when = (
        f"UPDATE OF active ON {table} FOR EACH ROW "
        f"WHEN (session_user = '{Login.PARSER}' AND OLD.active AND NOT NEW.active)"
    )
    return Trigger(name, table, when, _DEACTIVATION.format(illegal=ILLEGAL))
