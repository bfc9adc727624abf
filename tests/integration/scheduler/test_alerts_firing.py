"""Each alert in a real Prometheus: it fires when the metrics say so, and clears again."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from headway.metrics import api, database, parser, process, scheduler, worker
from headway.metrics.metric import ServiceKind
from headway.runtime.daemon.bell import Bell
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.health import Health
from headway.runtime.health.server import HealthServer, start
from headway.testing.metrics.alerts import RULES, impatient
from headway.testing.metrics.prometheus import Prometheus, prometheus
from headway.testing.metrics.scraping import free_port
from headway.testing.time.clock import until

ALERTS = {rule["alert"] for rule in yaml.safe_load(RULES.read_text())["groups"][0]["rules"]}
ABSENT = "HeadwayNoScheduler"
HOUR = 3600.0


@pytest.fixture
def ports() -> dict[ServiceKind, int]:
    return {service: free_port() for service in ServiceKind}


@pytest.fixture
def services(ports: dict[ServiceKind, int]) -> Iterator[dict[ServiceKind, HealthServer]]:
    """What shows the metrics of this process as those of one service of each kind."""
    health = Health(Bell(), SystemClock())
    running = {service: start(service, port, health) for service, port in ports.items()}
    be(good=True)
    yield running
    for server in running.values():
        server.close()


def be(*, good: bool) -> None:
    """Set what is measured to what is good, or bad, for every alert on it."""
    alive, late = (1.0, 0.0) if good else (0.0, 2 * HOUR)
    scheduler.PROCESSES.replace(
        {("scheduler",): 1.0, **dict.fromkeys([("api",), ("parser",), ("worker",)], alive)}
    )
    scheduler.OLDEST_UNCLAIMED.set(late, "default")
    scheduler.UNCLAIMED.set(1.0, "default")
    scheduler.POOL_STARVING.set(late, "default_pool")
    scheduler.RETENTION_BEHIND.read_by(lambda: {("runs",): 100 * late})
    scheduler.NOTIFICATION_WAIT.set(late)
    database.OLDEST_TRANSACTION.set(late)
    parser.LOOK_AGE.read_by(lambda: late)
    parser.QUEUE_AGE.read_by(lambda: late)
    process.CLOCK_SKEW.read_by(lambda: -late)
    process.DISK.read_by(lambda: {("total",): 100.0, ("free",): 50.0 if good else 5.0})


def count() -> None:
    """Have happened once more what should not."""
    api.REQUESTS.inc("/api/v2/dags", "5xx")
    scheduler.ATTEMPTS_LOST.inc(by=10)
    scheduler.DEADLINES_MISSED.inc()
    process.ILLEGAL_TRANSITIONS.inc()
    worker.LOGS_NOT_COPIED.inc()
    worker.TASK_LAG.observe(HOUR)


def none_fires(server: Prometheus) -> bool:
    scheduler.MEASURED_AT.set(SystemClock().now().timestamp(), "queues")
    return not server.firing()


def all_fire(server: Prometheus) -> bool:
    count()
    return server.firing() == ALERTS - {ABSENT}


def test_each_alert_fires_and_clears(
    tmp_path: Path, ports: dict[ServiceKind, int], services: dict[ServiceKind, HealthServer]
) -> None:
    targets = {str(service): port for service, port in ports.items()}
    with prometheus(tmp_path / "prometheus", targets, impatient(RULES.read_text())) as server:
        until(lambda: server.values("count(headway_processes)") != [], "the first samples")
        none_fires(server)
        assert server.firing() <= {ABSENT}  # before the first scrape

        be(good=False)
        until(
            lambda: all_fire(server),
            f"all alerts but {ABSENT}",
            said=lambda: f"Silent: {ALERTS - {ABSENT} - server.firing()}",
        )
        be(good=True)
        until(lambda: none_fires(server), "no alert any more")

        services[ServiceKind.SCHEDULER].close()
        until(lambda: server.firing() == {ABSENT}, f"{ABSENT} alone")
        health = Health(Bell(), SystemClock())
        with closing(start(ServiceKind.SCHEDULER, ports[ServiceKind.SCHEDULER], health)) as again:
            services[ServiceKind.SCHEDULER] = again
            until(lambda: none_fires(server), "no alert once it is back")
