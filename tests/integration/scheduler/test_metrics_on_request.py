"""Metrics are measured, and what shows them is loaded, only where they are asked for."""

import subprocess
import sys
from threading import enumerate as enumerate_threads

import pytest

from headway.runtime.settings.configuration import read
from headway.runtime.settings.scheduler import SchedulerSettings
from headway.testing.time.clock import FakeClock
from headway_scheduler.jobs.table_metrics import measured

URL = "postgresql://nobody@127.0.0.1:1/nowhere"


@pytest.mark.parametrize(("port", "measures"), [(0, False), (9090, True)])
def test_it_is_measured_for_who_can_see_it(port: int, measures: bool) -> None:
    given = read(SchedulerSettings, http_port=port)
    with measured(URL, given, FakeClock()):
        assert ("measure" in {thread.name for thread in enumerate_threads()}) is measures


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
