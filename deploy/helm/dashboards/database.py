"""The dashboard 'Database'."""

from typing import Final

from deploy.helm.dashboards.parts import Board, Panel, Query, quantile, rate

DATABASE: Final = Board(
    "database",
    "Headway / Database",
    "What services ask of Postgres, and how it stands.",
    [
        Panel(
            "Connections used",
            "Part of those that a service may have.",
            [
                Query(
                    'sum by (instance) (headway_database_connections{state="used"}) / '
                    'sum by (instance) (headway_database_connections{state="most"})',
                    "{{instance}}",
                )
            ],
            "percentunit",
        ),
        Panel(
            "Time in statements",
            "Seconds of each second, the ten statements that take most.",
            [
                Query(
                    f"topk(10, {rate('headway_statement_duration_seconds_sum', 'statement')})",
                    "{{statement}}",
                )
            ],
            "percentunit",
        ),
        Panel(
            "Statements",
            "Of all services.",
            [Query(rate("headway_statement_duration_seconds_count"))],
            "ops",
        ),
        Panel(
            "Duration of statements",
            "Of all services.",
            [
                Query(quantile(0.5, "headway_statement_duration_seconds"), "p50"),
                Query(quantile(0.99, "headway_statement_duration_seconds"), "p99"),
            ],
            "s",
        ),
        Panel(
            "Transactions tried again",
            "By what did it; an error of the database broke them off.",
            [Query(rate("headway_transaction_retries_total", "of"), "{{of}}")],
            "ops",
        ),
        Panel(
            "Oldest transaction",
            "While it is open vacuum removes nothing that has died since.",
            [Query("max(headway_database_oldest_transaction_seconds)")],
            "s",
        ),
        Panel(
            "Size of tables",
            "With indexes, the ten largest.",
            [Query("topk(10, max by (table) (headway_table_bytes))", "{{table}}")],
            "bytes",
        ),
        Panel(
            "Dead rows",
            "The ten tables with most.",
            [Query("topk(10, max by (table) (headway_table_dead_rows))", "{{table}}")],
        ),
        Panel(
            "Since the last vacuum",
            "By table.",
            [Query("max by (table) (headway_table_vacuum_age_seconds)", "{{table}}")],
            "s",
        ),
        Panel(
            "Write-ahead log",
            "Bytes that the server writes.",
            [Query("max(rate(headway_database_wal_bytes_total[$__rate_interval]))")],
            "Bps",
        ),
        Panel(
            "Age of transaction ids",
            "Vacuum brings it down; at 2 billion the database stops.",
            [Query("max(headway_database_transaction_id_age)")],
        ),
    ],
)
