"""How a process proves in its connections which one it is: see ADR 21.

A process was given a proof when it was registered; the database keeps the hash of the proof, which
no role reads.  A connection of its own carries the proof among the options of its start, which
Postgres shows to no other session.  Behind a pooler those options cannot be used, and a setting of
the connection would be left to the next client: each transaction then says a hash of the server's
process and of the transaction's start, keyed by the hash of the proof.  Other sessions see the text
of that statement; it is worth nothing in another transaction.

The view `headway_current_process` returns the process that has proved itself so, while nobody has
declared it dead.
"""

from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.exc import DBAPIError

from headway.db.core.processes import FENCED, Identity
from headway.domain.errors import DatabaseError, FencedError
from headway.runtime.settings.configuration import environment

VIEW: Final = "headway_current_process"

CHALLENGE: Final = "concat_ws(' ', pg_backend_pid(), extract(epoch FROM now()))"
"""What tells a transaction from all others, as SQL."""

INSTALLED = text("""
    SELECT obj_description(oid, 'pg_class') FROM pg_class
     WHERE oid = to_regclass(:view) AND relkind = 'v'
""")

ME = text("SELECT id FROM headway_current_process")

# The setting is ID:PROOF, or ID::HASH of a transaction.  CASE, so that no hash is computed in vain.
_VIEW: Final = """
CREATE OR REPLACE VIEW headway_current_process WITH (security_barrier) AS
SELECT it.id
  FROM process AS it
 WHERE it.id = CAST(nullif(split_part(current_setting('headway.process', true), ':', 1), '')
                    AS bigint)
   AND it.ended_at IS NULL
   AND CASE split_part(current_setting('headway.process', true), ':', 2)
       WHEN '' THEN encode(sha256(it.proof_hash || convert_to(its_challenge, 'UTF8')
                                  || it.proof_hash), 'hex')
                    = split_part(current_setting('headway.process', true), ':', 3)
       ELSE it.proof_hash
            = sha256(decode(split_part(current_setting('headway.process', true), ':', 2), 'hex'))
       END;
""".replace("its_challenge", CHALLENGE)

_VERSION: Final = sha256(_VIEW.encode()).hexdigest()[:16]

_ASK: Final = f"SELECT {CHALLENGE}"
_SAY: Final = "SELECT set_config('headway.process', %s, true)"

ARRIVED = text("SELECT current_setting('headway.process', true) LIKE '0:%'")

_NOBODY: Final = Identity(0, 0, UUID(int=0))

_UNPROVED: Final = (
    "The database does not know which process this is: something between the process and the "
    "database, a connection pooler, does not pass on the options of a connection. "
    "Set HEADWAY_DATABASE_POOLER=true."
)


@dataclass(slots=True)
class _Introduction:
    """Who the connections of an engine are of, once that is known."""

    pooled: bool
    me: Identity | None = None


_OF_ENGINES: Final[WeakKeyDictionary[Engine, _Introduction]] = WeakKeyDictionary()


def prepare(engine: Engine, *, pooled: bool) -> None:
    """Have the connections of this engine prove which process they are of, once it is known."""
    its = _OF_ENGINES[engine] = _Introduction(pooled)

    def connecting(_dialect: object, _record: object, _args: object, options: Any) -> None:
        if its.me is not None:
            # Options that are given here replace those that the environment gives.
            given = engine.url.query.get("options") or environment().get("PGOPTIONS", "")
            options["options"] = f"{given} {option(its.me)}".strip()

    def begun(conn: Connection) -> None:
        driver: Any = conn.connection.driver_connection
        if its.me is not None and not driver.autocommit:
            say(conn, its.me)

    if pooled:
        event.listen(engine, "begin", begun)
    else:
        event.listen(engine, "do_connect", connecting)


def check_arrival(engine: Engine) -> None:
    """Raise DatabaseError if the proof of a process would not arrive at the database."""
    its = _OF_ENGINES[engine]
    if its.pooled:
        return
    its.me = _NOBODY
    engine.dispose()
    try:
        with engine.connect() as conn:
            found = conn.scalar(ARRIVED)
    except DBAPIError as error:
        if "startup parameter" not in str(error):
            raise
        raise DatabaseError(_UNPROVED) from None
    finally:
        its.me = None
        engine.dispose()
    if not found:
        raise DatabaseError(_UNPROVED)


def introduce(engine: Engine, me: Identity) -> None:
    """Have every connection of this engine, from now on, prove that it is of this process.

    Engines for single reads prove nothing: they write nothing.  FencedError when the process was
    declared dead meanwhile; that the proof arrives is what `check_arrival` finds out.
    """
    its = _OF_ENGINES[engine]
    its.me = me
    if not its.pooled:
        engine.dispose()
    with engine.begin() as conn:
        if conn.scalar(ME) != me.id:
            raise FencedError(FENCED)


def option(me: Identity) -> str:
    """Return the start option by which a connection of its own proves which process it is of."""
    return "" if me.proof is None else f"-c headway.process={me.id}:{me.proof.bytes.hex()}"


def say(conn: Connection, me: Identity) -> None:
    """Prove for one transaction which process it is of; one without a proof says nothing."""
    if me.proof is None:
        return
    challenge = str(conn.exec_driver_sql(_ASK).scalar_one())
    key = sha256(me.proof.bytes).digest()
    said = f"{me.id}::{sha256(key + challenge.encode() + key).hexdigest()}"
    conn.exec_driver_sql(_SAY, (said,))


def install(conn: Connection) -> None:
    """Put the view of this release in place; nothing if it is there."""
    if conn.scalar(INSTALLED, {"view": VIEW}) != _VERSION:
        conn.exec_driver_sql(_VIEW.replace("%", "%%"))
        conn.exec_driver_sql(f"COMMENT ON VIEW {VIEW} IS '{_VERSION}'")
