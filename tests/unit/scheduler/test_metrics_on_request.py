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
    settings = read(SchedulerSettings, http_port=port, pool_metrics_interval=ODD)
    nowhere = create_engine("postgresql+psycopg2://")
    chores = Housekeeping(Replica(nowhere, Identity(1, 1), settings), SystemClock()).chores

    assert (ODD in {chore.every for chore in chores}) is measured


@pytest.mark.parametrize(
    "module", ["headway_parser.serving", "headway_scheduler.command", "headway_worker.command"]
)
def test_a_service_does_not_load_a_web_server_for_nobody(module: str) -> None:
    program = (
        f"import sys, {module}; print({{'prometheus_client', 'http.server'}} & {{*sys.modules}})"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "set()\n"
