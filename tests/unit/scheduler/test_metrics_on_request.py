"""Metrics are measured, and what shows them is loaded, only where they are asked for."""

import subprocess
import sys

import pytest
from sqlalchemy import create_engine

from headway.db.processes import Identity
from headway.runtime.clock import SystemClock
from headway.runtime.settings import SchedulerSettings, read
from headway_scheduler.housekeeping import Housekeeping
from headway_scheduler.replica import Replica

ODD = 12.34


@pytest.mark.parametrize(("port", "measured"), [(0, False), (9090, True)])
def test_pools_are_measured_for_who_can_see_it(port: int, measured: bool) -> None:
    settings = read(SchedulerSettings, metrics_port=port, pool_metrics_interval=ODD)
    nowhere = create_engine("postgresql+psycopg2://")
    chores = Housekeeping(Replica(nowhere, Identity(1, 1), settings), SystemClock()).chores

    assert (ODD in {chore.every for chore in chores}) is measured


def test_a_scheduler_does_not_load_a_web_server_for_nobody() -> None:
    program = "import sys, headway_scheduler.command; print('prometheus_client' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
