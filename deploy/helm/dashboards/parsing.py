"""The dashboard 'Parsing'."""

from typing import Final

from deploy.helm.dashboards.parts import Board, Panel, Query, quantile, rate

PARSING: Final = Board(
    "parsing",
    "Headway / Parsing",
    "Whether DAG files are read, and how long that takes.",
    [
        Panel(
            "Files",
            "Those that parsers know, and those that fail, by bundle.",
            [Query("max by (bundle, state) (headway_parser_files)", "{{bundle}} {{state}}")],
        ),
        Panel(
            "Files that wait",
            "Found to be parsed, and not begun with.",
            [Query("sum by (instance) (headway_parser_queued_files)", "{{instance}}")],
        ),
        Panel(
            "Age of the queue",
            "For how long the first file has waited.",
            [Query("max by (instance) (headway_parser_queue_age_seconds)", "{{instance}}")],
            "s",
        ),
        Panel(
            "Age of the last look",
            "Since a parser has compared its bundles with the database.",
            [Query("max by (instance) (headway_parser_look_age_seconds)", "{{instance}}")],
            "s",
        ),
        Panel(
            "Parses",
            "By whether the file had an error; and new versions.",
            [
                Query(rate("headway_parses_total", "result"), "{{result}}"),
                Query(rate("headway_dag_versions_changed_total"), "new versions"),
            ],
            "ops",
        ),
        Panel(
            "Duration of parses",
            "Of one file in a child process.",
            [
                Query(quantile(0.5, "headway_parse_duration_seconds"), "p50"),
                Query(quantile(0.95, "headway_parse_duration_seconds"), "p95"),
            ],
            "s",
        ),
        Panel(
            "Children killed and lost",
            "Too slow, printing or answering too much; lost by no fault of their file.",
            [
                Query(rate("headway_parser_children_killed_total", "reason"), "{{reason}}"),
                Query(rate("headway_parser_children_lost_total"), "lost"),
            ],
            "ops",
        ),
        Panel(
            "Parses with packages that were imported before",
            "Stored (kept), or parsed once more without that (repeated).",
            [Query(rate("headway_parser_preloaded_parses_total", "result"), "{{result}}")],
            "ops",
        ),
    ],
)
