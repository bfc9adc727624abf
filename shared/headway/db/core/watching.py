"""How long statements take, and how many connections are in use, for the metrics of a process."""

import sys
from typing import Any, Final

from sqlalchemy import Engine, QueuePool, TextClause, event

from headway.db.core.engine import reader
from headway.metrics.database import CONNECTIONS, STATEMENT_SECONDS
from headway.metrics.metric import OTHER, Values
from headway.runtime.daemon.clock import Clock

_PACKAGE: Final = "headway.db."


def watch(engine: Engine, clock: Clock) -> None:
    """Have the metrics tell of the statements and connections of an engine and its reader."""
    engines = {"main": engine, "reader": reader(engine)}
    watched = _Watch(clock)
    for each in engines.values():
        event.listen(each, "before_cursor_execute", watched.begin)
        event.listen(each, "after_cursor_execute", watched.end)
    CONNECTIONS.read_by(lambda: _connections(engines))


def _connections(engines: dict[str, Engine]) -> dict[Values, float]:
    pools = {name: engine.pool for name, engine in engines.items()}
    return {
        (name, state): float(number)
        for name, pool in pools.items()
        if isinstance(pool, QueuePool)
        for state, number in (("used", pool.checkedout()), ("most", pool.size()))
    }


class _Watch:
    """Measures statements; those that failed are left out."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._names: dict[int, tuple[TextClause, str]] = {}

    def begin(self, _conn: object, _cursor: object, *rest: Any) -> None:
        """Note when a statement begins."""
        context = rest[2]
        context.headway_began = self._clock.monotonic()

    def end(self, _conn: object, _cursor: object, *rest: Any) -> None:
        """Count a statement that has ended."""
        context = rest[2]
        seconds = self._clock.monotonic() - context.headway_began
        STATEMENT_SECONDS.observe(seconds, self._name(context))

    def _name(self, context: Any) -> str:
        statement = getattr(context.compiled, "statement", None)
        if not isinstance(statement, TextClause):
            return OTHER
        known = self._names.get(id(statement))
        if known is None:  # it is held, so that no other one gets its number
            known = self._names[id(statement)] = statement, _name_of(statement)
        return known[1]


def _name_of(statement: TextClause) -> str:
    """Return the module and the name of the constant that a statement is."""
    for path, module in list(sys.modules.items()):
        if path.startswith(_PACKAGE):
            for name, value in vars(module).items():
                if value is statement:
                    return f"{path.rpartition('.')[2]}.{name}"
    return OTHER
