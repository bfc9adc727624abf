"""Launch callbacks and notifications: the log, the scratch folder, the order, the child process."""

from dataclasses import dataclass

from headway.domain.dag.callbacks import MOST_TRIES
from headway.domain.dag.notifiers import MOST_SENDS
from headway.domain.states import Outcome
from headway.runtime.logs.paths import CallbackLogKey
from headway.runtime.settings.worker import WorkerSettings
from headway_worker.callbacks.order_from_claim import order_of
from headway_worker.database.callback_database import CallbackWork, NotificationWork
from headway_worker.logs.attempt_logs import Logs
from headway_worker.notifications import order_from_claim
from headway_worker.protocol.order import ChildOrder
from headway_worker.supervision.execution import Execution
from headway_worker.supervision.fork_servers import ForkServers, limits_of
from headway_worker.supervision.scratch import ScratchFolders


@dataclass(frozen=True, slots=True)
class CallbackLauncher:
    """Launch callbacks and notifications from a fork server, each in a folder of its own."""

    forkers: ForkServers
    settings: WorkerSettings
    logs: Logs
    scratch: ScratchFolders

    def launch(
        self, work: CallbackWork | NotificationWork, until: float
    ) -> Execution[CallbackWork | NotificationWork]:
        """Start a callback that must end at `until`.

        OSError or ForkerError when that is impossible.
        """
        claimed, kind = work.claimed, "callback"
        if isinstance(work, NotificationWork):
            kind = "notification"
        key = CallbackLogKey(claimed.dag_id, claimed.run_id, claimed.key.id, claimed.tries, kind)
        own_log = self.logs.open(key)
        try:
            order: ChildOrder = self._order_of(work)
            limits, forker = limits_of(self.settings, until), self.forkers.live()
            scratch = self.scratch.take(f"{kind}s/{claimed.key.id}-{claimed.tries}")
            execution = Execution.start(work, order, forker, own_log, scratch, limits)
        except BaseException:
            own_log.close("The worker could not start it.", str(Outcome.LOST))
            raise
        execution.deadline = self.forkers.clock.monotonic() + self.settings.callback_timeout
        what = f"task {claimed.task_id}" if claimed.task_id else "the run"
        most = MOST_SENDS if isinstance(work, NotificationWork) else MOST_TRIES
        own_log.say(
            f"{kind.capitalize()} {claimed.key.id} for {claimed.event} of {what}, try "
            f"{claimed.tries} of {most}."
        )
        return execution

    def _order_of(self, work: CallbackWork | NotificationWork) -> ChildOrder:
        if isinstance(work, NotificationWork):
            return order_from_claim.order_of(work.claimed, self.settings.base_url or "")
        given = self.settings
        return order_of(work.claimed, work.code, work.dag, given.base_url, given.airflow_layer)
