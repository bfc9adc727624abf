from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.interval import DataInterval
from headway.domain.states import RunState, RunType, TaskState
from headway.runtime.processes.frames import FrameReader, encode_frame
from headway.sdk.running.facts import RunFacts
from headway_worker.protocol.order import TaskOrder
from headway_worker.protocol.supply import Code

NEW_YORK = timezone(timedelta(hours=-5))
DATES = st.datetimes(timezones=st.sampled_from([UTC, NEW_YORK]))
TEXTS = st.text(max_size=10)
ORDERS = st.builds(
    TaskOrder,
    code=st.builds(
        Code,
        store=TEXTS.map(lambda name: Path("/code", name.replace("\0", ""))),
        files=st.dictionaries(TEXTS, TEXTS, max_size=2),
    ),
    relative_path=TEXTS,
    attempt_key=TEXTS,
    max_xcom_bytes=st.integers(64, 2**40),
    spark=st.none() | st.dictionaries(TEXTS, TEXTS, max_size=2),
    facts=st.builds(
        RunFacts,
        dag_id=TEXTS,
        run_id=TEXTS,
        task_id=TEXTS,
        run_type=st.sampled_from(RunType),
        data_interval=st.tuples(DATES, DATES).map(lambda ends: DataInterval(*sorted(ends))),
        logical_date=st.none() | DATES,
        run_after=st.none() | DATES,
        start_date=st.none() | DATES,
        conf=st.dictionaries(TEXTS, st.none() | st.integers(-5, 5) | TEXTS, max_size=3),
        try_number=st.integers(1, 100),
        map_index=st.integers(-1, 100),
        run_state=st.sampled_from(RunState),
        task_state=st.sampled_from(TaskState),
        started_at=st.none() | DATES,
        ended_at=st.none() | DATES,
        queued_at=st.none() | DATES,
        run_ended_at=st.none() | DATES,
        hostname=st.none() | TEXTS,
        base_url=st.none() | TEXTS,
    ),
)


@given(ORDERS)
def test_an_order_travels_in_a_frame(order: TaskOrder) -> None:
    assert TaskOrder.from_frame(*FrameReader().feed(encode_frame(order.to_frame()))) == order


@pytest.mark.parametrize("zone", [UTC, NEW_YORK])
def test_dates_keep_their_zone(zone: timezone) -> None:
    start = datetime(2013, 1, 1, tzinfo=zone)
    facts = RunFacts(dag_id="d", run_id="r", task_id="t", data_interval=DataInterval.exact(start))
    order = TaskOrder(
        cron_semantics=CronSemantics.INTERVAL,
        code=Code(Path("/c"), {"d.py": "0a"}),
        relative_path="d.py",
        facts=facts,
        attempt_key="1-1",
        max_xcom_bytes=64,
    )

    found = TaskOrder.from_frame(order.to_frame()).facts.data_interval.start

    assert found.utcoffset() == start.utcoffset()
