"""Spark for an attempt: what it needs to know it asks its worker."""

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Final

from headway.domain.dag.names import instance_name
from headway.domain.spark_work import Handle
from headway.domain.states import Outcome
from headway.runtime.daemon.clock import Clock, SystemClock
from headway.runtime.daemon.loop import Pace
from headway.runtime.processes.frames import Frame
from headway.runtime.settings import configuration
from headway.sdk.bundle.bundle_code import BundleCode
from headway.sdk.running.facts import RunFacts
from headway_worker.protocol.order import TaskOrder
from headway_worker.spark.cluster.app_outcome import PriorApp
from headway_worker.spark.session.access import SparkAccess, say
from headway_worker.spark.target.target import SparkTarget

_ALWAYS_RUNNING: Final = Event()
_ASKING: Final = Pace(retry_first=1.0, retry_longest=10.0)


def when_settled(ask: Callable[[], Frame], say: Callable[[str], None], clock: Clock) -> Frame:
    """Return what the worker answers, asking again while it is "wait", of which it `say`s why once.

    The attempt's own process waits, so that whatever ends the attempt ends this.
    """
    answer, times = ask(), 0
    if "wait" in answer:
        say(answer["wait"])
    while "wait" in answer:
        times += 1
        clock.wait(_ALWAYS_RUNNING, _ASKING.retry_after(times))
        answer = ask()
    return answer


def title_of(facts: RunFacts) -> str:
    """Return what the applications of an attempt are called."""
    instance = instance_name(facts.task_id, facts.map_index)
    return f"headway {facts.dag_id}.{instance} {facts.run_id}"


def spark_of(
    order: TaskOrder,
    code: BundleCode,
    ask: Callable[[Frame], Frame],
    tell: Callable[[Frame], None],
) -> SparkAccess:
    """Return the attempt's access to Spark; the worker's server starts when it is first used.

    Its worker is told of progress and figures, which needs no answer.
    """

    def locate(conn_id: str, for_session: bool) -> SparkTarget:
        question = {"ask": "spark", "conn_id": conn_id, "session": for_session}
        return SparkTarget.from_frame(when_settled(lambda: ask(question), say, SystemClock()))

    def save_handle(handle: Handle) -> None:
        ask({"ask": "save_handle", "handle": dict(handle)})

    def prior() -> PriorApp | None:
        if order.facts.try_number == 1:
            return None  # nobody need be asked what was before it
        answer = ask({"ask": "prior_handle"})
        if not answer["found"]:
            return None
        outcome = answer["outcome"]
        return PriorApp(answer["handle"], None if outcome is None else Outcome(outcome))

    return SparkAccess(
        locate=locate,
        attempt_key=order.attempt_key,
        on_handle=save_handle,
        on_progress=lambda progress: tell({"progress": progress.to_frame()}),
        on_figures=lambda figures: tell({"figures": figures.to_frame()}),
        code=code,
        scratch=Path.cwd() / "spark-submit",
        environment=configuration.environment(),
        prior=prior,
        title=title_of(order.facts),
        called_off=order.is_called_off,
    )
