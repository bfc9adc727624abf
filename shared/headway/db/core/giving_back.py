"""How connections are given back to their pool, also those that the server has ended."""

import logging
from typing import Any

import psycopg2
from sqlalchemy import Engine, event
from sqlalchemy.pool import PoolResetState

log = logging.getLogger(__name__)


def install(engine: Engine) -> None:
    """Have the pool of an engine, made with `pool_reset_on_return=None`, take connections back so.

    By itself SQLAlchemy logs a traceback for each connection that is lost when it comes back.
    """
    event.listen(engine, "reset", roll_back)


def roll_back(connection: Any, record: Any, state: PoolResetState) -> None:
    """End what a transaction has left, unless that is done, or its connection is gone."""
    if state.transaction_was_reset or connection.closed:
        return
    try:
        connection.rollback()
    except psycopg2.Error as error:
        log.warning("A connection to the database was lost: %s", " ".join(str(error).split()))
        if record is not None:
            record.invalidate()
