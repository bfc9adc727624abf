"""The guards: triggers by which Postgres refuses a move that the tables of moves do not have.

They are generated from `domain/states.py` and put in place by `headway db migrate`.  Every
UPDATE names the sources of its move all the same: that is what makes it safe beside
others, while a guard only catches the statement that forgets to.  A refusal is
therefore never a matter of bad luck: it is a bug, and is counted as one.
"""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import ExceptionContext

from headway.db.access import row_guards
from headway.db.access.logins import Login
from headway.db.access.row_guards import ILLEGAL, Trigger
from headway.domain.states import (
    CALLBACK_MOVES,
    DEADLINE_MOVES,
    INITIAL,
    MOVES,
    PHASE_MOVES,
    RUN_MOVES,
    TERMINAL,
    UNFINISHED_RUN,
    CallbackState,
    DeadlineState,
    Phase,
    Role,
    RunState,
    TaskState,
)
from headway.metrics.process import ILLEGAL_TRANSITIONS

log = logging.getLogger(__name__)

ROLES: Final[Mapping[Login, Role]] = {
    Login.SCHEDULER: Role.SCHEDULER,
    Login.WORKER: Role.WORKER,
    Login.USER: Role.USER,
    Login.API: Role.USER,
}
"""Who moves what, by the role that it logs in as; the others move nothing."""

Moves: TypeAlias = (
    Mapping[RunState, Mapping[RunState, frozenset[Role]]]
    | Mapping[TaskState, Mapping[TaskState, frozenset[Role]]]
    | Mapping[Phase, Mapping[Phase, frozenset[Role]]]
    | Mapping[CallbackState, Mapping[CallbackState, frozenset[Role]]]
    | Mapping[DeadlineState, Mapping[DeadlineState, frozenset[Role]]]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """What is allowed of one column: its moves, and who enters rows in which state.

    Without `creators` nobody is granted to name the state of a new row.
    """

    table: str
    column: str
    key: str
    moves: Moves
    final: Collection[str]
    creators: Mapping[Role, Collection[str]]

    @property
    def initial(self) -> Collection[str]:
        """The states in which a row begins, whoever enters it."""
        return {state for states in self.creators.values() for state in states}


GUARDS: Final = (
    Guard(
        table="dag_run",
        column="state",
        key="id",
        moves=RUN_MOVES,
        final=set(RunState) - UNFINISHED_RUN,
        creators={Role.SCHEDULER: {RunState.QUEUED}, Role.USER: {RunState.QUEUED}},
    ),
    Guard(
        table="task_instance",
        column="state",
        key="id",
        moves=MOVES,
        final=TERMINAL,
        # A user adds to a run what the version has that it is given.
        creators={Role.SCHEDULER: INITIAL, Role.USER: {TaskState.NONE}},
    ),
    Guard(
        table="task_attempt",
        column="phase",
        key="task_instance_id",
        moves=PHASE_MOVES,
        final={Phase.ENDED},
        creators={Role.SCHEDULER: {Phase.QUEUED}},
    ),
    Guard(
        table="callback",
        column="state",
        key="id",
        moves=CALLBACK_MOVES,
        final={CallbackState.SUCCESS, CallbackState.FAILED},
        creators={Role.SCHEDULER: {CallbackState.QUEUED}, Role.WORKER: {CallbackState.QUEUED}},
    ),
    Guard(
        table="notification",
        column="state",
        key="id",
        moves=CALLBACK_MOVES,
        final={CallbackState.SUCCESS, CallbackState.FAILED},
        creators={},
    ),
    Guard(
        table="deadline",
        column="state",
        key="id",
        moves=DEADLINE_MOVES,
        final=set(DeadlineState) - {DeadlineState.OPEN},
        creators={},
    ),
)

INSTALLED = text("""
    SELECT tgname, obj_description(oid, 'pg_trigger') AS version
      FROM pg_trigger
     WHERE tgname = ANY (:names) AND tgenabled = 'O' AND NOT tgisinternal
       AND tgrelid = ANY (CAST(CAST(:tables AS text[]) AS regclass[]))
""")

_ACTOR: Final = "coalesce(current_setting('headway.actor', true), '') <> ''"

# Each expression is made ready once a transaction, when it is first come to: hence a
# branch for each role, and not one large expression.
_MOVES_BODY: Final = """
BEGIN
    IF {branches}
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = '{illegal}',
        MESSAGE = session_user || ' may not move {table} ' || OLD.{key} || ' from '
                  || OLD.{column} || ' to ' || NEW.{column} || '.',
        HINT = 'headway/domain/states.py has the moves. What a user moves, and what leaves a '
               'final state, needs an event in the same transaction, entered before the move.';
END
"""

_BEGINS_BODY: Final = """
BEGIN
    RAISE EXCEPTION USING
        ERRCODE = '{illegal}',
        MESSAGE = session_user || ' may not enter a row of {table} as ' || NEW.{column} || '.',
        HINT = 'headway/db/access/guards.py says who enters what.';
END
"""

_INSTALL: Final = """
CREATE OR REPLACE FUNCTION headway_{name}() RETURNS trigger
LANGUAGE plpgsql AS $guard${body}$guard$;
CREATE OR REPLACE TRIGGER {name} BEFORE {when}
EXECUTE FUNCTION headway_{name}();
ALTER TABLE {table} ENABLE TRIGGER {name};
COMMENT ON TRIGGER {name} ON {table} IS '{version}';
"""


def triggers() -> list[Trigger]:
    """Return the triggers of this release."""
    updates = [_on_update(guard) for guard in GUARDS]
    inserts = [_on_insert(guard) for guard in GUARDS if guard.creators]
    return [*updates, *inserts, *row_guards.triggers()]


def outdated(conn: Connection) -> list[Trigger]:
    """Return the triggers that this database does not have, or not as this release has them."""
    wanted = triggers()
    rows = conn.execute(
        INSTALLED,
        {
            "names": [trigger.name for trigger in wanted],
            "tables": sorted({trigger.table for trigger in wanted}),
        },
    )
    versions = {row.tgname: row.version for row in rows}
    return [trigger for trigger in wanted if versions.get(trigger.name) != trigger.version]


def install(conn: Connection) -> None:
    """Put the guards of this release in place; those that are there already are not touched."""
    for trigger in outdated(conn):
        put_in_place(conn, trigger)


def put_in_place(conn: Connection, it: Trigger) -> None:
    """Put one guard in place, or another version of it in its place."""
    statement = _INSTALL.format(
        name=it.name, table=it.table, when=it.when, body=it.body, version=it.version
    )
    conn.exec_driver_sql(statement.replace("%", "%%"))


def watch(engine: Engine) -> None:
    """Count and log every refusal on this engine, whoever handles its error."""
    event.listen(engine, "handle_error", _count)


def is_refusal(error: BaseException) -> bool:
    """Tell whether a guard has refused a move; trying it again is of no use."""
    return getattr(getattr(error, "orig", error), "pgcode", None) == ILLEGAL


def _count(context: ExceptionContext) -> None:
    if is_refusal(context.original_exception):
        ILLEGAL_TRANSITIONS.inc()
        log.error("action=illegal_transition %s", str(context.original_exception).strip())


def _on_update(guard: Guard) -> Trigger:
    body = _MOVES_BODY.format(
        branches="\n    ELSIF ".join(_branches(guard)),
        illegal=ILLEGAL,
        table=guard.table,
        key=guard.key,
        column=guard.column,
    )
    changed = f"OLD.{guard.column} IS DISTINCT FROM NEW.{guard.column}"
    when = f"UPDATE ON {guard.table} FOR EACH ROW WHEN ({changed})"
    return Trigger(f"{guard.table}_moves", guard.table, when, body)


def _on_insert(guard: Guard) -> Trigger:
    outsiders = [login for login in Login if ROLES.get(login) not in guard.creators]
    legal = f"{_among('NEW', guard, guard.initial)} AND session_user NOT IN {_listed(outsiders)}"
    for login, role in ROLES.items():
        own = guard.creators.get(role, guard.initial)
        if set(own) < set(guard.initial):
            legal += f" AND (session_user <> '{login}' OR {_among('NEW', guard, own)})"
    body = _BEGINS_BODY.format(illegal=ILLEGAL, table=guard.table, column=guard.column)
    when = f"INSERT ON {guard.table} FOR EACH ROW WHEN (NOT ({legal}))"
    return Trigger(f"{guard.table}_begins", guard.table, when, body)


def _branches(guard: Guard) -> Iterator[str]:
    not_final = _among("OLD", guard, set(guard.moves) - set(guard.final))
    for login, role in ROLES.items():
        with_event = _ACTOR if role is Role.USER else f"({not_final} OR {_ACTOR})"
        yield _branch(f"session_user = '{login}'", f"{_legal(guard, {role})} AND {with_event}")
    strangers = _listed(login for login in Login if login not in ROLES)
    yield _branch(
        f"session_user NOT IN {strangers}",
        f"{_legal(guard, set(Role))} AND ({not_final} OR {_ACTOR})",
    )


def _branch(who: str, legal: str) -> str:
    return f"{who} THEN\n        IF {legal} THEN\n            RETURN NEW;\n        END IF;"


def _legal(guard: Guard, roles: Collection[Role]) -> str:
    """Return the expression that is true of the moves that one of these roles may make."""
    cases = []
    for source, targets in guard.moves.items():
        allowed = {target for target, who in targets.items() if set(who) & set(roles)}
        if allowed:
            cases.append(f"            WHEN '{source}' THEN {_among('NEW', guard, allowed)}\n")
    if not cases:
        return "false"
    return f"(CASE OLD.{guard.column}\n{''.join(cases)}            ELSE false END)"


def _among(row: str, guard: Guard, values: Collection[str]) -> str:
    return f"{row}.{guard.column} IN {_listed(sorted(values))}"


def _listed(values: Iterable[str]) -> str:
    return f"({', '.join(repr(str(value)) for value in values)})"
