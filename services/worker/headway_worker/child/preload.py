"""What the fork server of a worker imports, so that attempts find it done.

It runs tasks of its own as an attempt does, from the order to the last words: what is made
at the first use (validators, signatures, time zones) is then there as well.
"""

import sys
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from socket import socketpair
from tempfile import TemporaryDirectory
from typing import Final

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval
from headway.domain.states import RunType
from headway.runtime.processes.frames import Frame, receive_frame, send_frame
from headway.sdk.context.told_environment import environment_kept
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.tracebacks import module_name
from headway.serialization.manifest import content_hash
from headway_worker.child import attempt
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.supply import Code

for module in (
    "headway.sdk.context.secrets",
    "headway_worker.child.callback",
    "jinja2.sandbox",
    "pendulum",
):
    import_module(module)  # what tasks import when they are run, and DAG files most often

FILE: Final = "headway_warm_up.py"
SOURCE: Final = """
import pendulum
from headway.sdk import DAG, chain, task

start = pendulum.datetime(2024, 1, 1, tz="UTC")
with DAG("by_hand", schedule=None, start_date=start):
    pass
with DAG("warm_up", schedule="@daily", start_date=start, default_args={"retries": 1}) as dag:

    @task
    def first(number: int = 1) -> str:
        return f"{number}"

    @task.bash
    def second(text: str) -> str:
        return "true"

    @task
    def third(number: int = 1) -> None:
        pass

    chain(second(first()), third.expand(number=[1, 2]))
"""

TIMES: Final = 10
"""So often the interpreter must see what it is to run quickly."""


def warm_up() -> None:
    """Run tasks until that costs no more than it will in a child.

    The interpreter rewrites what it runs for the first times, and each page that a child writes
    to it has to copy.
    """
    path = sys.path.copy()
    with TemporaryDirectory() as folder, environment_kept():
        Path(folder, content_hash(SOURCE.encode())).write_text(SOURCE)
        for _ in range(TIMES):
            for task_id, map_index in (("first", -1), ("third", 1)):
                _run(_order(Path(folder), task_id, map_index).to_frame())
                sys.path[:] = path
                del sys.modules[module_name(Path(FILE))]


def _run(order: Frame) -> None:
    ours, theirs = socketpair()
    with ours, theirs:
        send_frame(ours, {"saved": True})
        attempt.run(order, theirs)
        said = receive_frame(ours)
        if said is not None and "ask" in said:  # which was answered before
            said = receive_frame(ours)
    if said is None or said["result"]["outcome"] != "success":
        raise RuntimeError(f"The task that warms up does not run here: {said}")


def _order(folder: Path, task_id: str, map_index: int) -> TaskOrder:
    date = datetime(2024, 1, 1, tzinfo=UTC)
    facts = RunFacts(
        dag_id="warm_up",
        run_id="warm_up",
        task_id=task_id,
        run_type=RunType.SCHEDULED,
        data_interval=DataInterval(date, date),
        logical_date=date,
        run_after=date,
        start_date=date,
        conf={},
        try_number=1,
        map_index=map_index,
    )
    return TaskOrder(
        cron_semantics=CronSemantics.INTERVAL,
        code=Code(folder, {FILE: content_hash(SOURCE.encode())}),
        relative_path=FILE,
        facts=facts,
        attempt_key="0-0",
        max_xcom_bytes=1024,
    )


warm_up()
