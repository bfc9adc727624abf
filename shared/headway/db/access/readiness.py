"""What the database says of a process that is asked whether it is ready."""

from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from headway.db.access import migrate
from headway.db.core import processes
from headway.db.core.engine import reader
from headway.db.core.processes import Identity
from headway.domain.errors import DatabaseError
from headway.runtime.daemon.loop import cause_of
from headway.runtime.health import HealthCheck
from headway.runtime.secrets.scrub import masked

DATABASE: Final = "database"


@dataclass(slots=True)
class Readiness:
    """Look whether the database answers, has this release's schema, and counts the process alive.

    `me` is who the process is, once it is registered.  The look takes a connection for single
    reads, and may hang as long as the database does.
    """

    engine: Engine
    me: Identity | None = None
    _reader: Engine = field(init=False)

    def __post_init__(self) -> None:
        self._reader = reader(self.engine)

    def look(self) -> list[HealthCheck]:
        """Return what was found; of a database that does not answer nothing else is told."""
        try:
            with self._reader.connect() as conn:
                found = migrate.current(conn)
                present = self.me is not None and processes.is_present(conn, self.me)
        except (SQLAlchemyError, DatabaseError) as error:
            return [HealthCheck(DATABASE, False, masked(" ".join(cause_of(error).split())))]
        return [HealthCheck(DATABASE, True, "answers"), _schema(found), self._process(present)]

    def _process(self, present: bool) -> HealthCheck:
        if self.me is None:
            return HealthCheck("process", False, "is not registered yet")
        found = f"is process {self.me.id}" if present else f"process {self.me.id} counts as ended"
        return HealthCheck("process", present, found)


def _schema(found: str | None) -> HealthCheck:
    wanted = migrate.head()
    if found == wanted:
        return HealthCheck("schema", True, f"is {found}")
    has = "there are no tables" if found is None else f"is {found}"
    return HealthCheck("schema", False, f"{has}; this release needs {wanted}")
