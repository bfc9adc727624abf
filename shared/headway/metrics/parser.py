"""Metrics of parsers."""

from typing import Final

from headway.metrics.metric import Counter, Gauge, Histogram, Label, ServiceKind

_OURS: Final = frozenset({ServiceKind.PARSER})

FILES: Final = Gauge(
    "headway_parser_files",
    "DAG files that this parser looks at, by bundle, and those of them that fail (failed).",
    _OURS,
    (Label("bundle"), Label("state", ("known", "failed"))),
)

QUEUE: Final = Gauge(
    "headway_parser_queued_files",
    "DAG files that this parser has found to be parsed and has not begun with.",
    _OURS,
)

QUEUE_AGE: Final = Gauge(
    "headway_parser_queue_age_seconds",
    "For how long the first of them has waited; 0 if there is none.",
    _OURS,
    unit="seconds",
)

LOOK_AGE: Final = Gauge(
    "headway_parser_look_age_seconds",
    "Seconds since this parser has last compared its bundles with the database.",
    _OURS,
    unit="seconds",
)

PARSE_SECONDS: Final = Histogram(
    "headway_parse_duration_seconds",
    "How long the parse of a DAG file took.",
    _OURS,
    unit="seconds",
    bounds=(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0),
)

PARSES: Final = Counter(
    "headway_parses",
    "Parses of DAG files that were stored, by whether the file had an error.",
    _OURS,
    (Label("result", ("good", "error")),),
)

VERSIONS: Final = Counter(
    "headway_dag_versions_changed",
    "DAG files whose parse has put a new version of a DAG in force.",
    _OURS,
)

CHILDREN_KILLED: Final = Counter(
    "headway_parser_children_killed",
    "Children that were killed: too slow (time), printing or answering too much (refused).",
    _OURS,
    (Label("reason", ("time", "refused")),),
)

CHILDREN_LOST: Final = Counter(
    "headway_parser_children_lost",
    "Children that were lost by no fault of their file; it is parsed again.",
    _OURS,
)

DECLARED: Final = (
    FILES,
    QUEUE,
    QUEUE_AGE,
    LOOK_AGE,
    PARSE_SECONDS,
    PARSES,
    VERSIONS,
    CHILDREN_KILLED,
    CHILDREN_LOST,
)
