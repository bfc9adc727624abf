"""The dashboard 'Overview'."""

from typing import Final

from deploy.helm.dashboards.parts import ALIVE, Board, Panel, Query, quantile, rate

OVERVIEW: Final = Board(
    "overview",
    "Headway / Overview",
    "Whether work gets done, and what keeps it from that.",
    [
        ALIVE,
        Panel(
            "Runs that have not ended",
            "DAG runs by state.",
            [Query("max by (state) (headway_dag_runs)", "{{state}}")],
            single=True,
        ),
        Panel(
            "Task lag, p95",
            "From met dependencies to the start, of 95 in 100 tasks.",
            [Query(quantile(0.95, "headway_task_lag_seconds"))],
            "s",
            single=True,
        ),
        Panel(
            "Deadlines missed",
            "Deadlines of runs and tasks that were missed within a day.",
            [Query("sum(increase(headway_deadlines_missed_total[1d]))")],
            single=True,
        ),
        Panel(
            "Oldest notification",
            "For how long it has been neither sent nor given up.",
            [Query("max(headway_notification_oldest_wait_seconds)")],
            "s",
            single=True,
        ),
        Panel(
            "Task instances by state",
            "Of runs that have not ended.",
            [Query("max by (state) (headway_task_instances)", "{{state}}")],
        ),
        Panel(
            "Attempts that ended",
            "By outcome.",
            [Query(rate("headway_attempts_total", "outcome"), "{{outcome}}")],
            "ops",
        ),
        Panel(
            "Runs that ended",
            "By state.",
            [Query(rate("headway_dag_runs_ended_total", "state"), "{{state}}")],
            "ops",
        ),
        Panel(
            "Runs that failed, by DAG",
            "The ten DAGs with the most failed runs within a day.",
            [
                Query(
                    "topk(10, sum by (dag) "
                    '(increase(headway_dag_runs_ended_total{state="failed"}[1d])))',
                    "{{dag}}",
                )
            ],
        ),
        Panel(
            "Retries and refusals",
            "Tasks scheduled once more; moves that the database refused: bugs; lost traces.",
            [
                Query(rate("headway_retries_total"), "retries"),
                Query(rate("headway_illegal_transition_total"), "refused moves"),
                Query(rate("headway_spans_dropped_total"), "dropped spans"),
            ],
            "ops",
        ),
        Panel(
            "Clocks",
            "By how much the clock of each service differs from the database's.",
            [Query("max by (instance) (abs(headway_clock_skew_seconds))", "{{instance}}")],
            "s",
        ),
    ],
)
