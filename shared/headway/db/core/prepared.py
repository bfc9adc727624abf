"""Statements that the server plans once, not each time they are executed.

Of a small pass half the time goes into planning.  A `hot` statement is prepared on each
connection that executes it.  The first execution plans it, whatever the parameters are, and
Postgres keeps that plan (`plan_cache_mode`, set in `engine.py`).  A kept plan does not see
tables grow, so that of a new database would stay for too long: every few seconds a
connection forgets its prepared statements, and with them their plans.

Behind a pooler nothing is prepared: there a connection changes from transaction to
transaction.
"""

import logging
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg2
from sqlalchemy import Engine, TextClause, event, text

from headway.runtime.daemon.clock import SystemClock

log = logging.getLogger(__name__)

FRESH: Final = 10.0
"""Seconds for which a connection keeps what it has prepared."""

_CHANGED: Final = "0A000"
_GONE: Final = "26000"
"""SQLSTATEs of a plan whose tables have changed, and of a statement that is not there."""

_POOLER: Final = (
    "A statement that was prepared is gone, so nothing is prepared from now on. If there is a "
    "pooler between Headway and Postgres, say so: HEADWAY_DATABASE_POOLER=true."
)

_PARAMETER: Final = re.compile(r"%\((\w+)\)s")
_CLOCK: Final = SystemClock()


class Preparation(NamedTuple):
    """A statement's name on a connection, and the two statements that prepare and execute it."""

    name: str
    prepare: str
    execute: str


@dataclass(slots=True)
class _Prepared:
    """What one connection has prepared: how to execute a statement, by its text."""

    since: float
    executions: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Preparing:
    """How the hot statements of one engine are executed."""

    on: bool = True

    def execute(self, cursor: Any, statement: str, parameters: Any, context: Any) -> bool:
        """Execute what is hot, and tell whether it was."""
        if not (self.on and context.execution_options.get("prepare")):
            return False
        known = _known(cursor, context.root_connection.info)
        execution = known.executions.get(statement)
        if execution is None:
            preparation = prepare(statement)
            cursor.execute(preparation.prepare)
            known.executions[statement] = preparation.execute
            cursor.execute(preparation.execute, literals(parameters))
        else:
            self._again(cursor, execution, parameters, known)
        return True

    def _again(self, cursor: Any, execution: str, parameters: Any, known: _Prepared) -> None:
        try:
            cursor.execute(execution, literals(parameters))
        except psycopg2.Error as error:
            if error.pgcode not in (_CHANGED, _GONE):
                raise
            known.executions.clear()
            if error.pgcode == _GONE:
                self.on = False
                log.warning(_POOLER)
            raise psycopg2.OperationalError(f"The next try prepares anew. {error}") from error


def _known(cursor: Any, info: dict[str, Any]) -> _Prepared:
    now = _CLOCK.monotonic()
    known: _Prepared | None = info.get("prepared")
    if known is None or now > known.since + FRESH:
        if known is not None:
            cursor.execute("DEALLOCATE ALL")
        known = info["prepared"] = _Prepared(now)
    return known


def hot(sql: str) -> TextClause:
    """Return a statement that is executed so often that to plan it each time would cost much.

    Each parameter must be used as values of one type only.
    """
    return text(sql).execution_options(prepare=True)


def is_hot(statement: TextClause) -> bool:
    """Tell whether this statement is prepared where it can be."""
    return bool(statement.get_execution_options().get("prepare"))


def install(engine: Engine) -> None:
    """Have hot statements prepared on the connections of an engine."""
    event.listen(engine, "do_execute", _Preparing().execute)


def array(values: Sequence[object]) -> str:
    """Return a list as the server reads it whatever the type of its elements."""
    return "{" + ",".join(map(_element, values)) + "}"


def prepare(statement: str) -> Preparation:
    """Return how to prepare and to execute a statement with named parameters."""
    name = f"hot_{secrets.token_hex(8)}"  # processes may share a connection, and be forks of one
    order = list(dict.fromkeys(_PARAMETER.findall(statement)))
    places = {parameter: f"${place}" for place, parameter in enumerate(order, 1)}
    body = _PARAMETER.sub(lambda found: places[found[1]], statement).replace("%%", "%")
    values = ", ".join(f"%({parameter})s" for parameter in order)
    execute = f"EXECUTE {name} ({values})" if order else f"EXECUTE {name}"
    return Preparation(name, f"PREPARE {name} AS {body}", execute)


def literals(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as the arguments of EXECUTE.

    Lists and fractions are without a type of their own: the server would round a number with
    a fraction, in silence, where it has taken the parameter for an integer.
    """
    return {name: _literal(value) for name, value in parameters.items()}


def _literal(value: object) -> object:
    match value:
        case list():
            return array(value)
        case float():
            return repr(value)
        case _:
            return value


def _element(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case datetime():
            return f'"{value.isoformat()}"'
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case _:
            raise TypeError(f"{type(value).__name__} in the parameters of a hot statement")
