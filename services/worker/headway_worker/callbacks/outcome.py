"""How a callback ended, from what its child said and how its process went."""

from headway.db.execution.callback_claims import CallbackKey, CallbackReport
from headway.domain.states import CallbackState, Outcome
from headway_worker.supervision.outcome import ProcessEnd, explain, storable


def conclude(key: CallbackKey, ending: ProcessEnd, timeout: float) -> CallbackReport | None:
    """Return the report of a callback's end; None when its claim is to run out instead.

    Whatever its functions do, it has ended then.  It is begun again only if its process was
    lost, which counts as the death of its worker, or if this worker stops, which does not count.
    """
    if ending.timed_out:
        error = f"It ran longer than the callback_timeout of {timeout:g} s, and was stopped."
        return CallbackReport(key, CallbackState.FAILED, error)
    if ending.said is not None:
        done = ending.said.outcome is Outcome.SUCCESS
        state = CallbackState.SUCCESS if done else CallbackState.FAILED
        return CallbackReport(key, state, storable(ending.said.error))
    if ending.handed_back:
        return CallbackReport(key, CallbackState.QUEUED)
    if ending.exit.lost is not None:
        return None
    return CallbackReport(key, CallbackState.FAILED, explain(ending.exit, "callback"))
