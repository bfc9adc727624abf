"""The dashboard 'Schedulers'."""

from typing import Final

from deploy.helm.dashboards.parts import ALIVE, Board, Panel, Query, quantile, rate

SCHEDULERS: Final = Board(
    "schedulers",
    "Headway / Schedulers",
    "Whether schedulers share the work, and what they do for dead ones.",
    [
        ALIVE,
        Panel(
            "Releases",
            "Services by release; more than one only during an upgrade.",
            [
                Query(
                    "count by (service, version) (headway_service_info)", "{{service}} {{version}}"
                )
            ],
            single=True,
        ),
        Panel(
            "Time in passes",
            "Seconds of each second, by pass.",
            [Query(rate("headway_pass_duration_seconds_sum", "pass"), "{{pass}}")],
            "percentunit",
        ),
        Panel(
            "Duration of passes, p95",
            "By pass.",
            [Query(quantile(0.95, "headway_pass_duration_seconds", "pass"), "{{pass}}")],
            "s",
        ),
        Panel(
            "Tasks queued, by scheduler",
            "Whether each replica does its share.",
            [Query(rate("headway_tasks_queued_total", "instance"), "{{instance}}")],
            "ops",
        ),
        Panel(
            "Critical section",
            "Times that another scheduler had the pool, and that a pool was left to others.",
            [
                Query(rate("headway_critical_section_skips_total"), "skips"),
                Query(rate("headway_critical_section_waits_total"), "waits"),
            ],
            "ops",
        ),
        Panel(
            "Dead and adopted",
            "Services declared dead, what was taken over of them, and attempts that were lost.",
            [
                Query(rate("headway_processes_dead_total", "kind"), "dead {{kind}}"),
                Query(rate("headway_adoptions_total", "what"), "adopted {{what}}"),
                Query(rate("headway_attempts_lost_total"), "lost attempts"),
                Query(rate("headway_attempts_revoked_total"), "unclaimed attempts"),
            ],
            "ops",
        ),
        Panel(
            "Schedule delay",
            "From when a run was due to its start; those caught up on count, too.",
            [
                Query(quantile(0.5, "headway_schedule_delay_seconds"), "p50"),
                Query(quantile(0.95, "headway_schedule_delay_seconds"), "p95"),
            ],
            "s",
        ),
        Panel(
            "Age of measurements",
            "How old what schedulers count in the database is.",
            [
                Query(
                    "time() - max by (subject) (headway_measured_timestamp_seconds)", "{{subject}}"
                ),
                Query("max by (subject) (headway_measuring_duration_seconds)", "{{subject}} took"),
            ],
            "s",
        ),
        Panel(
            "Retention",
            "For how long the oldest row of a kind is kept longer than the policy says.",
            [Query("max by (kind) (headway_retention_behind_seconds)", "{{kind}}")],
            "s",
        ),
    ],
)
