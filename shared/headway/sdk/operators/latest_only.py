"""LatestOnlyOperator: go on only in the latest run of the schedule."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from headway.domain.states import RunType
from headway.sdk.operators.branch import BaseBranchOperator
from headway.sdk.running.context import Context

if TYPE_CHECKING:
    from datetime import datetime

    from headway.sdk.context.task_instance import DagRun


class LatestOnlyOperator(BaseBranchOperator):
    """Skip the direct downstream tasks if the next run of the schedule is due already.

    A run that a user or another program has triggered skips nothing.
    """

    operator_name = "latest_only"

    def choose_branch(self, context: Context) -> Iterable[str]:
        """Choose all direct downstream tasks, or none."""
        from headway.runtime.daemon.clock import SystemClock

        if self.is_latest(context["dag_run"], SystemClock().now()):
            return sorted(self.downstream_task_ids)
        self.log.info("The next run of the schedule is due already: downstream tasks are skipped.")
        return []

    def is_latest(self, run: "DagRun", now: "datetime") -> bool:
        """Whether no later run of the schedule is due, or the run is none of the schedule's."""
        if run.run_type is RunType.MANUAL or self.dag is None:
            return True
        following = self.dag.run_ending_after(run.data_interval_end)
        return following is None or now <= following.run_after
