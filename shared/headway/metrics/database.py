"""Metrics of what services ask of the database, and of the database itself."""

from typing import Final

from headway.metrics.metric import EVERY, Counter, Gauge, Histogram, Label, ServiceKind

_SCHEDULER: Final = frozenset({ServiceKind.SCHEDULER})
_BY_TABLE: Final = (Label("table"),)

CONNECTIONS: Final = Gauge(
    "headway_database_connections",
    "Connections of this process to the database: in use (used), and the limit (most).",
    EVERY,
    (Label("pool", ("main", "reader")), Label("state", ("used", "most"))),
)

STATEMENT_SECONDS: Final = Histogram(
    "headway_statement_duration_seconds",
    "Duration of statements, by the statement's name in headway.db.",
    EVERY,
    (Label("statement"),),
    "seconds",
    bounds=(0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0),
)

TRANSACTION_RETRIES: Final = Counter(
    "headway_transaction_retries",
    "Work that was repeated after an error of the database, by the kind of work.",
    EVERY,
    (Label("of"),),
)

OLDEST_TRANSACTION: Final = Gauge(
    "headway_database_oldest_transaction_seconds",
    "Age of the oldest open transaction of the database, of any session.",
    _SCHEDULER,
    unit="seconds",
)

TRANSACTION_ID_AGE: Final = Gauge(
    "headway_database_transaction_id_age",
    "Age of the oldest transaction id in rows of the database, `age(datfrozenxid)`, as a number "
    "of transactions; vacuum lowers this number.",
    _SCHEDULER,
)

WAL_BYTES: Final = Counter(
    "headway_database_wal_bytes",
    "Bytes that the server has written to its write-ahead log.",
    _SCHEDULER,
    unit="bytes",
)

TABLE_BYTES: Final = Gauge(
    "headway_table_bytes",
    "Size of a table with its indexes.",
    _SCHEDULER,
    _BY_TABLE,
    "bytes",
)

DEAD_ROWS: Final = Gauge(
    "headway_table_dead_rows",
    "Estimated dead rows of a table that vacuum has not removed yet.",
    _SCHEDULER,
    _BY_TABLE,
)

VACUUM_AGE: Final = Gauge(
    "headway_table_vacuum_age_seconds",
    "Seconds since the last vacuum of a table; tables without a vacuum are left out.",
    _SCHEDULER,
    _BY_TABLE,
    "seconds",
)

DECLARED: Final = (
    CONNECTIONS,
    STATEMENT_SECONDS,
    TRANSACTION_RETRIES,
    OLDEST_TRANSACTION,
    TRANSACTION_ID_AGE,
    WAL_BYTES,
    TABLE_BYTES,
    DEAD_ROWS,
    VACUUM_AGE,
)
