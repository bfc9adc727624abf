"""What a request asks the database, and how long that takes as psql would ask it."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

from sqlalchemy import Engine, event
from starlette.testclient import TestClient

from benchmarks.support.server import Database
from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.db.core.engine import reader
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway_api.app import build, guarded
from headway_api.auth.database import ApiDatabase, reading

_FIRST: Final = 3
"""Requests before the one whose statements count: the first connection asks more."""


class AskedStatements:
    """The application in this process, whose statements are noted and executed again."""

    def __init__(self, reads: Engine, writes: Engine, token: str) -> None:
        given = read(ApiSettings)
        app = build(ApiDatabase(reads, writes), given)
        headers = {"Authorization": f"Bearer {token}"}
        self._client = TestClient(guarded(app, given), "http://localhost", headers=headers)
        self._plain = writes
        self._noted: list[tuple[str, Any]] = []
        for engine in (reads, writes, reader(writes)):
            event.listen(engine, "before_cursor_execute", self._note)

    def of(self, path: str) -> list[tuple[str, Any]]:
        """Return the statements of a request, with their parameters."""
        for _ in range(_FIRST):
            self._noted.clear()
            answer = self._client.get(path)
            assert answer.is_success, (path, answer.status_code, answer.text)
        return list(self._noted)

    def seconds(self, statements: list[tuple[str, Any]]) -> float:
        """Return how long a plain connection takes for these statements, and to get their rows."""
        with closing(self._plain.raw_connection()) as pooled:
            connection: Any = pooled.driver_connection
            with connection.cursor() as cursor:
                began = time.perf_counter()
                for statement, parameters in statements:
                    cursor.execute(statement, parameters)
                    if cursor.description is not None:
                        cursor.fetchall()
                taken = time.perf_counter() - began
            connection.rollback()
        return taken

    def _note(self, _conn: object, _cursor: object, statement: str, given: Any, *_: Any) -> None:
        self._noted.append((statement, given))


@contextmanager
def asked_statements(database: Database, token: str) -> Iterator[AskedStatements]:
    """Have the application in this process, beside the service that is measured."""
    writes = engines.connect(database.urls[Login.API], name="benchmark api", pool_size=4)
    reads = reading(database.urls[Login.READONLY], read(ApiSettings))
    try:
        yield AskedStatements(reads, writes, token)
    finally:
        reads.dispose()
        writes.dispose()
