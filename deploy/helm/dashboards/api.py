"""The dashboard 'API'."""

from typing import Final

from deploy.helm.dashboards.parts import Board, Panel, Query, quantile, rate

API: Final = Board(
    "api",
    "Headway / API",
    "What is asked of the API, and how long its answers take.",
    [
        Panel(
            "Requests",
            "Answered requests, by the class of their status.",
            [Query(rate("headway_api_requests_total", "status"), "{{status}}")],
            "reqps",
        ),
        Panel(
            "Requests by path",
            "The ten paths of the API's document that are asked for most.",
            [Query(f"topk(10, {rate('headway_api_requests_total', 'route')})", "{{route}}")],
            "reqps",
        ),
        Panel(
            "Duration of requests",
            "Until the whole answer was sent; without streams.",
            [
                Query(quantile(0.5, "headway_api_request_duration_seconds"), "p50"),
                Query(quantile(0.99, "headway_api_request_duration_seconds"), "p99"),
            ],
            "s",
        ),
        Panel(
            "Requests and streams at present",
            "What the API answers now, by whether it is a stream.",
            [Query("sum by (kind) (headway_api_running_requests)", "{{kind}}")],
        ),
        Panel(
            "Topics of live streams",
            "What the live streams watch: each process reads a topic once, whoever watches it.",
            [Query("headway_api_live_topics", "{{instance}}")],
        ),
        Panel(
            "Memory of live topics",
            "What each process keeps of the topics of its live streams.",
            [Query("headway_api_live_bytes", "{{instance}}")],
            "bytes",
        ),
        Panel(
            "Makings of pages",
            "Pages made for live streams, by what came of it; each is made once for all streams.",
            [Query(rate("headway_api_page_makings_total", "outcome"), "{{outcome}}")],
            "ops",
        ),
        Panel(
            "Failed makings of pages",
            "The pages that fail; what fails is made again after 1 to 30 seconds.",
            [Query(rate("headway_api_page_makings_total", "page", 'outcome="failed"'), "{{page}}")],
            "ops",
        ),
        Panel(
            "Duration of makings of pages",
            "How long a page takes; a page rests four times as long afterwards.",
            [
                Query(quantile(0.5, "headway_api_page_making_duration_seconds"), "p50"),
                Query(quantile(0.99, "headway_api_page_making_duration_seconds"), "p99"),
            ],
            "s",
        ),
        Panel(
            "Time that pages take",
            "The ten kinds of pages whose makings take most of the time.",
            [
                Query(
                    "topk(10, "
                    + rate("headway_api_page_making_duration_seconds_sum", "page")
                    + ")",
                    "{{page}}",
                )
            ],
            "s",
        ),
    ],
)
