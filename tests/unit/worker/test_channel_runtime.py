"""A task's threads share one channel, on which an answer does not say what it answers."""

import select
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

from headway.domain.interval import DataInterval
from headway.runtime.frames import receive_frame, send_frame
from headway.sdk.facts import RunFacts
from headway_worker.child import ChannelRuntime
from headway_worker.order import Order

ORDER = Order(
    code=Path("/code"),
    relative_path="etl.py",
    facts=RunFacts(
        dag_id="etl",
        run_id="manual__1",
        task_id="load",
        data_interval=DataInterval.exact(datetime(2013, 1, 1, tzinfo=UTC)),
    ),
    attempt_key="1-1",
    max_xcom_bytes=1000,
)


def test_questions_of_several_threads_do_not_mix() -> None:
    ours, theirs = socket.socketpair()
    runtime = ChannelRuntime(theirs, ORDER)
    with ours, theirs, ThreadPoolExecutor(4) as threads:
        pulls = {n: threads.submit(runtime.pull_xcom, f"task_{n}", "key") for n in range(4)}
        for _ in pulls:
            question = receive_frame(ours)
            assert question is not None
            another, _, _ = select.select([ours], [], [], 0.1)
            assert not another, "a second question came before the first was answered"
            send_frame(ours, {"found": True, "value": question["task_id"]})

        assert {n: pull.result() for n, pull in pulls.items()} == {n: f"task_{n}" for n in range(4)}
