"""An engine by which nothing can be written, for reads that decide nothing."""

from typing import Any

from sqlalchemy import Engine, event

from headway.db.core import engine as engines
from headway.runtime.settings import configuration
from headway.runtime.settings.database import DatabaseSettings


def connect(url: str, *, name: str, pool_size: int, statement_timeout: float) -> Engine:
    """Return an engine whose statements are each a transaction of their own, and read-only.

    The database gives up a statement after `statement_timeout` seconds.  The login should be
    `headway_readonly`, which may not write; the transaction may not in any case.
    """
    milliseconds = max(1, round(statement_timeout * 1000))
    base = engines.connect(url, name=name, pool_size=pool_size)
    engine = engines.reader(base, pool_size=pool_size, name=name)

    def prepare_connection(connection: Any, _record: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SET default_transaction_read_only = on; SET statement_timeout = {milliseconds}"
            )

    def prepare_statement(
        _conn: object, _cursor: object, statement: str, parameters: Any, *_: object
    ) -> tuple[str, Any]:
        limits = (
            "SELECT set_config('transaction_read_only', 'on', true), "
            f"set_config('statement_timeout', '{milliseconds}', true); "
        )
        return limits + statement, parameters

    if configuration.read(DatabaseSettings).pooler:
        # First of all listeners: what they put before it is undone by these limits.
        event.listen(engine, "before_cursor_execute", prepare_statement, retval=True, insert=True)
    else:
        event.listen(engine, "connect", prepare_connection)
    return engine
