"""The dashboard 'Workers and Spark'."""

from typing import Final

from deploy.helm.dashboards.parts import Board, Panel, Query, quantile, rate

WORKERS: Final = Board(
    "workers",
    "Headway / Workers and Spark",
    "What workers run, and what they have left.",
    [
        Panel(
            "Slots",
            "Of all workers.",
            [Query("sum by (state) (headway_worker_slots)", "{{state}}")],
        ),
        Panel(
            "Slots used, by worker",
            "Part of its slots.",
            [
                Query(
                    'sum by (instance) (headway_worker_slots{state="used"}) / '
                    'sum by (instance) (headway_worker_slots{state="total"})',
                    "{{instance}}",
                )
            ],
            "percentunit",
        ),
        Panel(
            "Claim latency",
            "From queued to claimed.",
            [
                Query(quantile(0.5, "headway_claim_latency_seconds"), "p50"),
                Query(quantile(0.95, "headway_claim_latency_seconds"), "p95"),
            ],
            "s",
        ),
        Panel(
            "Duration of attempts",
            "Of all DAGs.",
            [
                Query(quantile(0.5, "headway_attempt_duration_seconds"), "p50"),
                Query(quantile(0.95, "headway_attempt_duration_seconds"), "p95"),
            ],
            "s",
        ),
        Panel(
            "Margin of leases, p5",
            "What was left of a lease when it was renewed; near 0 attempts are lost.",
            [Query(quantile(0.05, "headway_lease_margin_seconds"))],
            "s",
        ),
        Panel(
            "Leases lost",
            "Attempts that workers killed because they could not renew the lease.",
            [Query(rate("headway_leases_lost_total", "instance"), "{{instance}}")],
            "ops",
        ),
        Panel(
            "Logs",
            "Bytes written, and bytes that the disk has not taken.",
            [
                Query(rate("headway_log_bytes_total"), "written"),
                Query(rate("headway_log_bytes_lost_total"), "lost"),
            ],
            "Bps",
        ),
        Panel(
            "Logs not copied",
            "Given up within a day.",
            [Query("sum(increase(headway_logs_not_copied_total[1d]))")],
        ),
        Panel(
            "Disk free",
            "Part of the disk of the Headway home.",
            [
                Query(
                    'min by (instance) (headway_home_disk_bytes{space="free"}) / '
                    'min by (instance) (headway_home_disk_bytes{space="total"})',
                    "{{instance}}",
                )
            ],
            "percentunit",
        ),
        Panel(
            "Memory",
            "Of each service without its children.",
            [
                Query(
                    "max by (instance) (process_resident_memory_bytes "
                    "* on (instance) group_left (service) headway_service_info)",
                    "{{instance}}",
                )
            ],
            "bytes",
        ),
        Panel(
            "Spark sessions",
            "Attempts with a place on a Spark Connect server.",
            [Query("sum by (instance) (headway_spark_sessions)", "{{instance}}")],
        ),
        Panel(
            "Spark executors",
            "Seconds of executors in each second, and tasks, of attempts that have ended.",
            [
                Query(rate("headway_spark_executor_seconds_total"), "executor seconds"),
                Query(rate("headway_spark_tasks_total"), "tasks"),
            ],
            "ops",
        ),
        Panel(
            "Spark bytes",
            "Read, written, shuffled, spilled.",
            [Query(rate("headway_spark_bytes_total", "kind"), "{{kind}}")],
            "Bps",
        ),
    ],
)
