"""Statements that the server plans once, not each time they are executed.

Of a small pass half the time goes into planning.  A `hot` statement is prepared on each
connection that executes it; after a few executions Postgres keeps a plan that does not
depend on the parameters, if by its own estimate that is no dearer.  A kept plan does not see
tables grow, so that of a new database would stay for too long: every few seconds a
connection forgets its prepared statements, and with them their plans.

Behind a pooler nothing is prepared: there a connection changes from transaction to
transaction.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from typing import Any, Final, NamedTuple

from sqlalchemy import Engine, TextClause, event, text

from headway.runtime.clock import SystemClock

FRESH: Final = 10.0
"""Seconds for which a connection keeps what it has prepared."""

FORGOTTEN: Final = frozenset({"0A000", "26000"})
"""SQLSTATEs of a plan whose tables have changed, and of a statement that is not there."""

_PARAMETER: Final = re.compile(r"%\((\w+)\)s")
_NUMBERS: Final = count()
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
    event.listen(engine, "do_execute", _execute)


def array(values: Sequence[object]) -> str:
    """Return a list as the server reads it whatever the type of its elements."""
    return "{" + ",".join(map(_element, values)) + "}"


def prepare(statement: str) -> Preparation:
    """Return how to prepare and to execute a statement with named parameters."""
    name = f"hot_{next(_NUMBERS)}"
    order = list(dict.fromkeys(_PARAMETER.findall(statement)))
    places = {parameter: f"${place}" for place, parameter in enumerate(order, 1)}
    body = _PARAMETER.sub(lambda found: places[found[1]], statement).replace("%%", "%")
    values = ", ".join(f"%({parameter})s" for parameter in order)
    execute = f"EXECUTE {name} ({values})" if order else f"EXECUTE {name}"
    return Preparation(name, f"PREPARE {name} AS {body}", execute)


def literals(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters as the arguments of EXECUTE: lists without a type of their own."""
    return {
        name: array(value) if isinstance(value, list) else value
        for name, value in parameters.items()
    }


def _execute(cursor: Any, statement: str, parameters: Any, context: Any) -> bool | None:
    if not context.execution_options.get("prepare"):
        return None
    known = _known(cursor, context.root_connection.info)
    execution = known.executions.get(statement)
    try:
        if execution is None:
            preparation = prepare(statement)
            cursor.execute(preparation.prepare)
            execution = known.executions[statement] = preparation.execute
        cursor.execute(execution, literals(parameters))
    except Exception as error:
        if getattr(error, "pgcode", None) in FORGOTTEN:
            known.executions.clear()
        raise
    return True


def _known(cursor: Any, info: dict[str, Any]) -> _Prepared:
    now = _CLOCK.monotonic()
    known: _Prepared | None = info.get("prepared")
    if known is None or now > known.since + FRESH:
        if known is not None:
            cursor.execute("DEALLOCATE ALL")
        known = info["prepared"] = _Prepared(now)
    return known


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
        case _:
            escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
