"""From a claimed callback to the order for the child that is to call its functions."""

from collections.abc import Mapping
from typing import Final

from headway.db.execution.callback_claims import ClaimedCallback
from headway.db.execution.called_instances import EndedInstance
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.cron_semantics import stored_in
from headway.domain.dag.spec import DagSpec
from headway.domain.states import RunState, TaskState
from headway.runtime.settings.layer_use import LayerUse
from headway.sdk.running.facts import RunFacts
from headway_worker.protocol.callback_order import CallbackOrder
from headway_worker.protocol.supply import Code

_TASK_STATES: Final[Mapping[CallbackEvent, TaskState]] = {
    CallbackEvent.SUCCESS: TaskState.SUCCESS,
    CallbackEvent.FAILURE: TaskState.FAILED,
    CallbackEvent.RETRY: TaskState.UP_FOR_RETRY,
    CallbackEvent.SKIPPED: TaskState.SKIPPED,
}


def order_of(
    claimed: ClaimedCallback,
    code: Code,
    dag: DagSpec,
    base_url: str | None = None,
    airflow_layer: LayerUse = LayerUse.AUTO,
) -> CallbackOrder:
    """Return the order for a claimed callback of a DAG."""
    return CallbackOrder(
        key=str(claimed.key.id),
        code=code,
        relative_path=dag.relative_path,
        facts=_facts(claimed, base_url),
        event=claimed.event,
        of_run=claimed.task_id is None,
        reason=claimed.reason,
        cause=claimed.cause,
        cron_semantics=stored_in(dag.timetable),
        parse_secrets=dag.parse_secrets,
        airflow_layer=airflow_layer,
    )


def _facts(claimed: ClaimedCallback, base_url: str | None) -> RunFacts:
    of_run = claimed.task_id is None
    ended = RunState.SUCCESS if claimed.event is CallbackEvent.SUCCESS else RunState.FAILED
    its = claimed.instance or _unknown(claimed)
    return RunFacts(
        dag_id=claimed.dag_id,
        run_id=claimed.run_id,
        task_id=its.task_id,
        run_type=claimed.run_type,
        data_interval=claimed.interval,
        logical_date=claimed.interval.start,
        run_after=claimed.run_after,
        start_date=claimed.run_started_at,
        conf=claimed.conf,
        try_number=its.attempt,
        map_index=its.map_index,
        run_state=ended if of_run else RunState.RUNNING,
        task_state=its.state if of_run else _TASK_STATES[claimed.event],
        started_at=its.started_at,
        ended_at=its.ended_at,
        hostname=its.hostname or "",
        queued_at=claimed.run_created_at,
        run_ended_at=claimed.run_ended_at,
        base_url=base_url,
    )


def _unknown(claimed: ClaimedCallback) -> EndedInstance:
    """Return what the callback itself says of its task; of a run no task may have begun."""
    index = -1 if claimed.map_index is None else claimed.map_index
    return EndedInstance(claimed.task_id or "", index, claimed.attempt or 0, TaskState.NONE)
