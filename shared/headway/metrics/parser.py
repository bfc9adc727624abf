"""Metrics of parsers."""

from typing import Final

from headway.metrics.metric import Counter, Gauge, Histogram, Label, ServiceKind

_OURS: Final = frozenset({ServiceKind.PARSER})

FILES: Final = Gauge(
    "headway_parser_files",
    "DAG files that this parser watches (known), and those that have an error (failed), by bundle.",
    _OURS,
    (Label("bundle"), Label("state", ("known", "failed"))),
)

QUEUE: Final = Gauge(
    "headway_parser_queued_files",
    "DAG files that wait to be parsed by this parser.",
    _OURS,
)

QUEUE_AGE: Final = Gauge(
    "headway_parser_queue_age_seconds",
    "Longest wait of a DAG file that waits to be parsed by this parser; 0 if none waits.",
    _OURS,
    unit="seconds",
)

LOOK_AGE: Final = Gauge(
    "headway_parser_look_age_seconds",
    "Seconds since this parser last compared its bundles with the database.",
    _OURS,
    unit="seconds",
)

PARSE_SECONDS: Final = Histogram(
    "headway_parse_duration_seconds",
    "Duration of the parse of a DAG file.",
    _OURS,
    unit="seconds",
    bounds=(0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0),
)

PARSES: Final = Counter(
    "headway_parses",
    "Stored parses of DAG files, by result: good, or the file had an error.",
    _OURS,
    (Label("result", ("good", "error")),),
)

VERSIONS: Final = Counter(
    "headway_dag_versions_changed",
    "Parses of DAG files that put a new version of a DAG in force.",
    _OURS,
)

CHILDREN_KILLED: Final = Counter(
    "headway_parser_children_killed",
    "Parsing processes that were killed: too slow (time), or too much "
    "output or too large an answer (refused).",
    _OURS,
    (Label("reason", ("time", "refused")),),
)

CHILDREN_LOST: Final = Counter(
    "headway_parser_children_lost",
    "Parsing processes that ended for a reason other than their file; the file is parsed again.",
    _OURS,
)

PRELOADED_PARSES: Final = Counter(
    "headway_parser_preloaded_parses",
    "Parses by a process that had imported the packages of the bundle before: stored (kept), or "
    "not, and the file was parsed once more without that (repeated).",
    _OURS,
    (Label("result", ("kept", "repeated")),),
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
    PRELOADED_PARSES,
)
