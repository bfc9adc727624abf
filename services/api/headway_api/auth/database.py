"""The two connections of the API: one by which nothing can be written, and one for changes."""

from dataclasses import dataclass

from sqlalchemy import Engine

from headway.db.core import read_only
from headway.runtime.settings.api import ApiSettings


@dataclass(frozen=True, slots=True)
class ApiDatabase:
    """Where requests run their statements: all reads by `reads`, and changes by `writes`."""

    reads: Engine
    writes: Engine


def reading(url: str, given: ApiSettings) -> Engine:
    """Return the engine of reads, for as many requests as are answered at a time."""
    return read_only.connect(
        url,
        name="headway api reads",
        pool_size=given.threads + 1,  # live events are looked for beside all requests
        statement_timeout=given.statement_timeout,
    )
