"""The two connections of the API: one by which nothing can be written, and one for changes."""

from dataclasses import dataclass

from sqlalchemy import Connection, Engine, event

from headway.db.core import engine as engines
from headway.runtime.settings.api import ApiSettings


@dataclass(frozen=True, slots=True)
class ApiDatabase:
    """Where requests run their statements: all reads by `reads`, and changes by `writes`."""

    reads: Engine
    writes: Engine


def reading(url: str, given: ApiSettings) -> Engine:
    """Return the engine of reads: each transaction is read-only, and each statement has a limit.

    Its login should be `headway_readonly`, which may not write; the transaction may not in any
    case.
    """
    connections = given.threads + 1  # live events are looked for beside all requests
    engine = engines.connect(url, name="headway api reads", pool_size=connections)
    milliseconds = max(1, round(given.statement_timeout * 1000))

    def begin(conn: Connection) -> None:
        conn.exec_driver_sql(
            f"SET TRANSACTION READ ONLY; SET LOCAL statement_timeout = {milliseconds}"
        )

    event.listen(engine, "begin", begin)
    return engine
