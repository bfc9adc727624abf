"""What an attempt's child process says comes in whole frames, whoever of its threads says it."""

import select
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval
from headway.domain.states import Outcome
from headway.runtime.processes.frames import receive_frame, send_frame
from headway.sdk.harness.execution import Result
from headway.sdk.running.facts import RunFacts
from headway_worker.child.attempt import ChannelRuntime
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.supply import Code

LARGE = "x" * 2**20
"""More than a socket takes that nobody reads from."""


def order(folder: Path) -> TaskOrder:
    facts = RunFacts(
        dag_id="etl",
        run_id="manual__1",
        task_id="t",
        data_interval=DataInterval.exact(datetime(2013, 1, 1, tzinfo=UTC)),
    )
    return TaskOrder(
        cron_semantics=CronSemantics.INTERVAL,
        code=Code(folder, {}),
        relative_path="e.py",
        facts=facts,
        attempt_key="1-1",
        max_xcom_bytes=2**21,
    )


def test_a_result_waits_for_what_a_thread_of_the_task_is_telling(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    ours.settimeout(5)
    runtime = ChannelRuntime(theirs, order(tmp_path))
    with ThreadPoolExecutor(2) as threads, ours, theirs:
        pushing = threads.submit(runtime.push_xcom, "key", LARGE)
        assert select.select([ours], [], [], 5)[0]  # it is in the middle of it
        saying = threads.submit(runtime.say, Result(outcome=Outcome.SUCCESS))

        pushed, said = receive_frame(ours), receive_frame(ours)

        send_frame(ours, {"saved": True})
        pushing.result(5)
        saying.result(5)
    assert pushed is not None
    assert said is not None
    assert pushed["value"] == LARGE
    assert said["result"]["outcome"] == "success"
