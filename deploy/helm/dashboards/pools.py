"""The dashboard 'Pools and lag'."""

from typing import Final

from deploy.helm.dashboards.parts import Board, Panel, Query, quantile, rate

POOLS: Final = Board(
    "pools",
    "Headway / Pools and lag",
    "What tasks wait for.",
    [
        Panel(
            "Slots taken, by pool",
            "Part of a pool's slots that attempts have, queued or running.",
            [
                Query(
                    'max by (pool) (headway_pool_slots{state="queued"} + ignoring(state) '
                    'headway_pool_slots{state="running"}) / on (pool) '
                    '(max by (pool) (headway_pool_slots{state="total"}) > 0)',
                    "{{pool}}",
                )
            ],
            "percentunit",
        ),
        Panel(
            "Starving",
            "Slots that are waited for in pools that have none free.",
            [Query("max by (pool) (headway_pool_starving_slots)", "{{pool}}")],
        ),
        Panel(
            "Scheduled tasks, by pool",
            "Their dependencies are met; they wait for a slot.",
            [Query("max by (pool) (headway_admissible_tasks)", "{{pool}}")],
        ),
        Panel(
            "Oldest scheduled task, by pool",
            "For how long it has waited.",
            [Query("max by (pool) (headway_oldest_admissible_task_seconds)", "{{pool}}")],
            "s",
        ),
        Panel(
            "Not queued, by limit",
            "Which limits hold tasks back.",
            [Query(rate("headway_tasks_refused_total", "limit"), "{{limit}}")],
            "ops",
        ),
        Panel(
            "Task lag",
            "From met dependencies to the start of the task.",
            [
                Query(quantile(0.5, "headway_task_lag_seconds"), "p50"),
                Query(quantile(0.95, "headway_task_lag_seconds"), "p95"),
            ],
            "s",
        ),
        Panel(
            "Attempts that wait for a worker",
            "By queue.",
            [Query("max by (queue) (headway_queued_attempts)", "{{queue}}")],
        ),
        Panel(
            "Oldest attempt that waits for a worker",
            "By queue.",
            [Query("max by (queue) (headway_oldest_queued_attempt_seconds)", "{{queue}}")],
            "s",
        ),
    ],
)
