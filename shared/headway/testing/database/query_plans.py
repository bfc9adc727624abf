"""How Postgres carries out the statements that a test executes, one by one."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pkgutil import walk_packages
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Engine, TextClause, event, text

from headway import db
from headway.db.core import prepared

Node: TypeAlias = Mapping[str, Any]

_EXPLAIN: Final = "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON)"
_REMOVED: Final = (
    "Rows Removed by Filter",
    "Rows Removed by Join Filter",
    "Rows Removed by Index Recheck",
)

_FEWEST: Final = 300
"""There are more statements: else they are not where they are looked for."""


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The plan of one execution, with what it took; `kept` if it regards no parameters."""

    statement: str
    root: Node
    kept: bool = False

    def nodes(self) -> Iterator[Node]:
        """Yield every step of the plan."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.get("Plans", ()))

    @property
    def read_in_full(self) -> set[str]:
        """The tables of which every row is read."""
        return {node["Relation Name"] for node in self.nodes() if node["Node Type"] == "Seq Scan"}

    @property
    def blocks(self) -> int:
        """How many blocks of tables and indexes are touched, whether they are in memory or not."""
        return int(self.root["Shared Hit Blocks"] + self.root["Shared Read Blocks"])

    @property
    def rows(self) -> int:
        """How many rows its steps look at, all in all.

        A bitmap of one index counts by the rows that it leads to: it also has entries of dead
        rows, as many as another transaction keeps from being removed.
        """
        entries = sum(
            float(index["Actual Rows"]) * float(index["Actual Loops"])
            for node in self.nodes()
            if node["Node Type"] == "Bitmap Heap Scan"
            for index in node["Plans"]
            if index["Node Type"] == "Bitmap Index Scan"
        )
        return round(sum(_looked_at(node) for node in self.nodes()) - entries)


@contextmanager
def explained(engine: Engine) -> Iterator[list[QueryPlan]]:
    """Explain each statement of `headway.db` as it is executed, and undo that execution first.

    A hot one is explained twice: by the plan for its parameters, and by the one that the
    server may keep for all.
    """
    plans: list[QueryPlan] = []
    names = _names()

    def explain(
        conn: Connection, executed: object, _many: object, parameters: Mapping[str, Any], _: object
    ) -> None:
        if isinstance(executed, TextClause) and executed in names:
            plans.append(QueryPlan(names[executed], _explain(conn, executed, parameters)))
            if prepared.is_hot(executed):
                root = _explain_kept(conn, executed, parameters)
                plans.append(QueryPlan(names[executed], root, kept=True))

    event.listen(engine, "before_execute", explain)
    try:
        yield plans
    finally:
        event.remove(engine, "before_execute", explain)


def _explain(conn: Connection, statement: TextClause, parameters: Mapping[str, Any]) -> Node:
    undo = conn.begin_nested()
    [answer] = conn.execute(text(f"{_EXPLAIN} {statement.text}"), parameters).scalar_one()
    undo.rollback()
    root: Node = answer["Plan"]
    return root


def _explain_kept(conn: Connection, statement: TextClause, parameters: Mapping[str, Any]) -> Node:
    preparation = prepared.prepare(str(statement.compile(dialect=conn.dialect)))
    undo = conn.begin_nested()
    cursor = conn.connection.cursor()
    cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    cursor.execute(preparation.prepare)
    cursor.execute(f"{_EXPLAIN} {preparation.execute}", prepared.literals(parameters))
    [[[answer]]] = cursor.fetchall()
    cursor.execute(f"DEALLOCATE {preparation.name}")
    undo.rollback()
    root: Node = answer["Plan"]
    return root


def _looked_at(node: Node) -> float:
    rows = float(node["Actual Rows"]) + sum(float(node.get(removed, 0)) for removed in _REMOVED)
    return rows * float(node["Actual Loops"])


def hot_statements() -> set[str]:
    """Return the names of all statements that are prepared."""
    return {name for statement, name in _names().items() if prepared.is_hot(statement)}


def _names() -> dict[TextClause, str]:
    found = {
        value: f"{module.name.rpartition('.')[2]}.{name}"
        for module in walk_packages(db.__path__, f"{db.__name__}.")
        if not module.ispkg
        for name, value in vars(import_module(module.name)).items()
        if isinstance(value, TextClause)
    }
    assert len(found) > _FEWEST
    return found
