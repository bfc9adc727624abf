"""Launch attempts of tasks: the log, the scratch folder, the order, the child process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from headway.db.execution.attempts import Claimed
from headway.domain.dag.cron_semantics import stored_in
from headway.domain.spark_work import outliving
from headway.domain.states import Outcome
from headway.runtime.forker import Forker
from headway.runtime.logs.paths import LogKey
from headway.runtime.settings.worker import WorkerSettings
from headway.sdk.running.facts import RunFacts
from headway_worker.database.worker_database import AttemptWork
from headway_worker.logs.attempt_logs import Logs
from headway_worker.protocol.order import TaskOrder
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.fork_servers import ForkServers, limits_of
from headway_worker.supervision.scratch import ScratchFolders

LEAST_TO_END: Final = 60.0
"""Seconds that an attempt gets which has nothing to do but to end an application."""


def untraced(_claimed: Claimed) -> None:
    """Begin an attempt that nobody traces."""


@dataclass(slots=True)
class AttemptLauncher:
    """Launch attempts from a fork server.

    Each gets a folder of its own from `scratch`, whose folder is the one to write in that a fork
    server elsewhere has in common with the worker.  `traced` hears of each attempt that begins,
    and returns what the spans of its task are below, if anything.
    """

    forkers: ForkServers
    settings: WorkerSettings
    logs: Logs
    scratch: ScratchFolders
    traced: Callable[[Claimed], str | None] = untraced

    def launch(
        self, work: AttemptWork, until: float, forker: Forker | None = None
    ) -> Execution[AttemptWork]:
        """Start an attempt that must end at `until`, by another fork server when one is given.

        OSError or ForkerError when that is impossible.
        """
        claimed = work.claimed
        key = LogKey(
            claimed.dag_id, claimed.run_id, claimed.task_id, claimed.map_index, claimed.key.attempt
        )
        attempt_log = self.logs.open(key)
        name = f"{claimed.key.task_instance_id}-{claimed.key.attempt}"
        order = self._order(work, name)
        limits = limits_of(self.settings, until)
        try:
            forker = forker or self.forkers.live()
            scratch = self.scratch.take(name)
            execution = Execution.start(work, order, forker, attempt_log, scratch, limits)
        except BaseException:
            attempt_log.close("The worker could not start it.", str(Outcome.LOST))
            raise
        execution.cluster_grace = self.settings.cluster_kill_grace
        execution.outlived_by = outliving(claimed.handle)
        timeout = work.task.execution_timeout
        if claimed.is_called_off:
            timeout = max(execution.cluster_grace, LEAST_TO_END)
        execution.deadline = None if timeout is None else self.forkers.clock.monotonic() + timeout
        attempt_log.say(f"Attempt {claimed.key.attempt} of {work.task.operator} task.")
        return execution

    def _order(self, work: AttemptWork, name: str) -> TaskOrder:
        claimed = work.claimed
        return TaskOrder(
            code=work.code,
            relative_path=work.dag.relative_path,
            facts=facts_of(claimed, self.settings.base_url),
            attempt_key=name,
            max_xcom_bytes=self.settings.max_xcom_bytes,
            cron_semantics=stored_in(work.dag.timetable),
            parse_secrets=work.dag.parse_secrets,
            is_called_off=claimed.is_called_off,
            traceparent=self.traced(claimed),
            airflow_layer=self.settings.airflow_layer,
        )


def facts_of(claimed: Claimed, base_url: str | None = None) -> RunFacts:
    """Return what a task is told about the run and the attempt that were claimed."""
    return RunFacts(
        dag_id=claimed.dag_id,
        run_id=claimed.run_id,
        task_id=claimed.task_id,
        run_type=claimed.run_type,
        data_interval=claimed.interval,
        logical_date=claimed.interval.start,
        run_after=claimed.run_after,
        start_date=claimed.run_started_at,
        conf=claimed.conf,
        try_number=claimed.key.attempt,
        map_index=claimed.map_index,
        started_at=claimed.started_at,
        queued_at=claimed.run_created_at,
        base_url=base_url,
    )
