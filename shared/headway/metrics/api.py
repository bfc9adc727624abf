"""Metrics of the API."""

from typing import Final

from headway.metrics.metric import Counter, Gauge, Histogram, Label, ServiceKind

_OURS: Final = frozenset({ServiceKind.API})

STATUSES: Final = ("2xx", "3xx", "4xx", "5xx")

REQUESTS: Final = Counter(
    "headway_api_requests",
    "Requests that the API has answered, by the path of its document and the class of the status. "
    "A path that the API does not have is `none`.",
    _OURS,
    (Label("route"), Label("status", STATUSES)),
)

REQUEST_SECONDS: Final = Histogram(
    "headway_api_request_duration_seconds",
    "Duration of requests until the whole answer was sent, by the path of the API's document; "
    "streams are not counted.",
    _OURS,
    (Label("route"),),
    unit="seconds",
    bounds=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)

RUNNING: Final = Gauge(
    "headway_api_running_requests",
    "Requests that the API answers at present (requests), and open streams (streams).",
    _OURS,
    (Label("kind", ("requests", "streams")),),
)

LIVE_TOPICS: Final = Gauge(
    "headway_api_live_topics",
    "Topics that live streams watch; a topic counts once for all accounts of the same bundles.",
    _OURS,
)

LIVE_BYTES: Final = Gauge(
    "headway_api_live_bytes",
    "Bytes that are kept of the topics of live streams, about.",
    _OURS,
    unit="bytes",
)

OTHER_PAGES: Final = "other"
PAGES: Final = (
    *("home", "dags", "dag", "cells", "calendar", "runs", "run", "run_graph", "task", "log"),
    *("spark", "backfill", "pools", "pool", "processes", OTHER_PAGES),
)

MAKINGS: Final = ("made", "unchanged", "missing", "refused", "failed")

PAGE_MAKINGS: Final = Counter(
    "headway_api_page_makings",
    "Makings of pages for live streams, by the kind of page and by what came of it: another "
    "page (made), the page that all streams have (unchanged), no page (missing), a stream whose "
    "account may not see it any more (refused), a fault or no database (failed). A failed one is "
    "tried again.",
    _OURS,
    (Label("page", PAGES), Label("outcome", MAKINGS)),
)

PAGE_SECONDS: Final = Histogram(
    "headway_api_page_making_duration_seconds",
    "Duration of the makings of pages for live streams, by the kind of page.",
    _OURS,
    (Label("page", PAGES),),
    unit="seconds",
    bounds=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)

DECLARED: Final = (
    REQUESTS,
    REQUEST_SECONDS,
    RUNNING,
    LIVE_TOPICS,
    LIVE_BYTES,
    PAGE_MAKINGS,
    PAGE_SECONDS,
)
