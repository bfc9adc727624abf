"""Real services at work show every metric that is declared; each is asked for what it counts."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from shutil import copytree
from signal import SIGKILL
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from deploy.helm.dashboards.files import BOARDS
from deploy.helm.dashboards.parts import Panel
from sqlalchemy import text

from headway.metrics import catalogue
from headway.metrics.metric import ServiceKind
from headway.testing.data import seed
from headway.testing.database.postgres import ThrowawayPostgres
from headway.testing.metrics.alerts import RULES, impatient
from headway.testing.metrics.prometheus import Prometheus, prometheus
from headway.testing.metrics.scraping import Page, free_port, missing, scrape
from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.time.clock import PATIENCE, until

pytestmark = pytest.mark.services

DAGS = Path(__file__).parents[1] / "dags" / "metrics"
QUICK = {
    "HEADWAY_SCHEDULER_POOL_METRICS_INTERVAL": "0.2",
    "HEADWAY_SCHEDULER_TABLE_METRICS_INTERVAL": "0.2",
    "HEADWAY_SCHEDULER_MAX_TIS_PER_QUERY": "4",
    "HEADWAY_SCHEDULER_SCHEDULER_HEALTH_CHECK_THRESHOLD": "6",
    "HEADWAY_PARSER_DAGS_ARE_PAUSED_AT_CREATION": "false",
}
BREAK_OFF = text("""
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
     WHERE datname = current_database()
       AND application_name ~ '^headway (api|parser|scheduler|worker)$'
""")
HOLD_POOL = text("SELECT FROM pool WHERE name = 'default_pool' FOR UPDATE")
PARSED = text("SELECT count(*) >= 4 FROM dag WHERE version_id IS NOT NULL")
ENDED = text(
    "SELECT bool_and(state IN ('success', 'failed')) FROM dag_run WHERE dag_id <> 'crowded'"
)


@dataclass(frozen=True)
class Works:
    """Services that have done all that is counted, and where they show it."""

    cluster: ServiceCluster
    folder: Path
    ports: dict[ServiceKind, int]
    api: int
    """The port of the API itself."""

    def page(self, service: ServiceKind) -> Page:
        return scrape(self.ports[service])

    def until_shown(self, service: ServiceKind, name: str, *labels: str) -> None:
        """Wait until a series is there and not 0."""
        key = name, frozenset(labels)
        until(lambda: self.page(service).get(key, 0.0) > 0, f"{name}{labels}")


@pytest.fixture(scope="module")
def works(
    postgres: ThrowawayPostgres,
    template: str,
    address: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Works]:
    root = tmp_path_factory.mktemp("metrics")
    copytree(DAGS, root / "dags")
    (root / "dags" / "broken.py").write_text("from headway.sdk import DAG\n1 / 0\n")
    url = address(postgres.create_database("headway_test_metrics", template))
    with service_cluster(url, root, QUICK) as cluster:
        seed.make_pool(cluster.engine, "narrow", 1)
        ports, api = {service: free_port() for service in ServiceKind}, free_port()
        for service, port in ports.items():
            given = {
                f"HEADWAY_{service.upper()}_HTTP_PORT": str(port),
                "HEADWAY_API_PORT": str(api),
            }
            cluster.start(service, given=given)
        yield Works(cluster, root, ports, api)
        (root / "go").touch()
        cluster.end_all()
    postgres.drop_database("headway_test_metrics")


@pytest.fixture(scope="module")
def busy(works: Works) -> Works:
    """The same once they have been at work, and have been disturbed."""
    cluster = works.cluster
    with suppress(HTTPError):  # nobody is signed in
        urlopen(f"http://127.0.0.1:{works.api}/auth/me", timeout=PATIENCE).close()
    cluster.until(lambda conn: conn.scalar(PARSED), "DAGs")
    with cluster.engine.begin() as conn:  # as another scheduler would that queues tasks
        conn.execute(HOLD_POOL)
        cluster.trigger("succeeds")
        works.until_shown(
            ServiceKind.SCHEDULER, "headway_critical_section_skips_total", "default_pool"
        )
    cluster.trigger("fails")
    cluster.trigger("crowded", {"folder": str(works.folder)})
    cluster.until(lambda conn: conn.scalar(ENDED), "the end of runs")
    second = cluster.start("scheduler", 2)
    cluster.trigger("succeeds")
    works.until_shown(ServiceKind.SCHEDULER, "headway_critical_section_waits_total", "default_pool")
    cluster.end(second, SIGKILL)
    works.until_shown(ServiceKind.SCHEDULER, "headway_processes_dead_total", "scheduler")
    with cluster.engine.connect() as conn:
        conn.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM task_instance"))
        conn.execute(BREAK_OFF)
    return works


def all_shown(works: Works, service: ServiceKind) -> bool:
    return not missing(works.page(service), catalogue.of(service))


@pytest.mark.regression
@pytest.mark.parametrize("service", ServiceKind)
def test_a_service_shows_every_metric_that_is_declared_for_it(
    busy: Works, service: ServiceKind
) -> None:
    page = busy.page(service)
    until(lambda: all_shown(busy, service), f"all but {missing(page, catalogue.of(service))}")
    shown = {name for name, _ in busy.page(service) if name.startswith("headway_")}

    assert shown == {name for metric in catalogue.of(service) for name in metric.samples}


@pytest.mark.parametrize(
    ("service", "name", "labels"),
    [
        *(
            (ServiceKind.SCHEDULER, "headway_pass_duration_seconds_count", (name,))
            for name in (
                "create_runs",
                "start_runs",
                "schedule_tasks",
                "schedule_retries",
                "queue_tasks",
                "adopt",
                "revoke",
                "clean",
            )
        ),
        (ServiceKind.SCHEDULER, "headway_critical_section_waits_total", ("default_pool",)),
        (ServiceKind.SCHEDULER, "headway_tasks_queued_total", ()),
        (ServiceKind.SCHEDULER, "headway_retries_total", ()),
        (ServiceKind.SCHEDULER, "headway_schedule_delay_seconds_count", ()),
        (ServiceKind.SCHEDULER, "headway_dag_runs_ended_total", ("succeeds", "success")),
        (ServiceKind.SCHEDULER, "headway_dag_runs_ended_total", ("fails", "failed")),
        (ServiceKind.SCHEDULER, "headway_dag_runs", ("running",)),
        (ServiceKind.SCHEDULER, "headway_task_instances", ("scheduled",)),
        (ServiceKind.SCHEDULER, "headway_task_instances", ("running",)),
        (ServiceKind.SCHEDULER, "headway_pool_slots", ("narrow", "running")),
        (ServiceKind.SCHEDULER, "headway_pool_slots", ("narrow", "total")),
        (ServiceKind.SCHEDULER, "headway_pool_starving_slots", ("narrow",)),
        (ServiceKind.SCHEDULER, "headway_admissible_tasks", ("narrow",)),
        (ServiceKind.SCHEDULER, "headway_oldest_admissible_task_seconds", ("narrow",)),
        *((ServiceKind.SCHEDULER, "headway_processes", (kind,)) for kind in ServiceKind),
        (ServiceKind.SCHEDULER, "headway_database_wal_bytes_total", ()),
        (ServiceKind.SCHEDULER, "headway_database_transaction_id_age", ()),
        (ServiceKind.SCHEDULER, "headway_table_bytes", ("task_instance",)),
        (ServiceKind.SCHEDULER, "headway_table_vacuum_age_seconds", ("task_instance",)),
        (ServiceKind.PARSER, "headway_parses_total", ("good",)),
        (ServiceKind.PARSER, "headway_parses_total", ("error",)),
        (ServiceKind.PARSER, "headway_parse_duration_seconds_count", ()),
        (ServiceKind.PARSER, "headway_dag_versions_changed_total", ()),
        (ServiceKind.PARSER, "headway_parser_look_age_seconds", ()),
        (ServiceKind.WORKER, "headway_attempts_total", ("succeeds", "success")),
        (ServiceKind.WORKER, "headway_attempts_total", ("fails", "failed")),
        (ServiceKind.WORKER, "headway_attempt_duration_seconds_count", ()),
        (ServiceKind.WORKER, "headway_task_lag_seconds_count", ()),
        (ServiceKind.WORKER, "headway_claim_latency_seconds_count", ()),
        (ServiceKind.WORKER, "headway_lease_margin_seconds_count", ()),
        (ServiceKind.WORKER, "headway_worker_slots", ("used",)),
        (ServiceKind.WORKER, "headway_log_bytes_total", ()),
        (ServiceKind.WORKER, "headway_home_disk_bytes", ("free",)),
        (ServiceKind.SCHEDULER, "headway_transaction_retries_total", ("scheduler",)),
        (ServiceKind.WORKER, "headway_statement_duration_seconds_count", ("attempts.CLAIM",)),
        (ServiceKind.SCHEDULER, "headway_statement_duration_seconds_count", ("tasks.QUEUE",)),
    ],
)
def test_what_has_happened_is_counted(
    busy: Works, service: ServiceKind, name: str, labels: tuple[str, ...]
) -> None:
    busy.until_shown(service, name, *labels)


def test_files_that_fail_are_told_by_bundle(busy: Works) -> None:
    page = busy.page(ServiceKind.PARSER)
    [failed] = [
        value
        for (name, labels), value in page.items()
        if name == "headway_parser_files" and "failed" in labels
    ]

    assert failed == 1


@pytest.fixture(scope="module")
def watched(busy: Works) -> Iterator[Prometheus]:
    targets = {str(service): port for service, port in busy.ports.items()}
    with prometheus(busy.folder / "prometheus", targets, impatient(RULES.read_text())) as server:
        yield server


def is_answered(server: Prometheus, query: str) -> bool:
    values = server.values(query.replace("$__rate_interval", "5s"))
    return bool(values) and all(map(isfinite, values))


@pytest.mark.parametrize(
    "panel", [panel for board in BOARDS for panel in board.panels], ids=lambda it: it.title
)
def test_what_a_panel_asks_has_finite_values(watched: Prometheus, panel: Panel) -> None:
    for query in panel.queries:
        answered = partial(is_answered, watched, query.expression)
        until(answered, f"a finite value of {query.expression}", patience=20)


def fires(server: Prometheus, alert: str) -> bool:
    return alert in server.firing()


def is_quiet(server: Prometheus, alert: str) -> bool:
    return alert not in server.firing()


def test_alerts_fire_for_real_services_and_clear(busy: Works, watched: Prometheus) -> None:
    cluster = busy.cluster
    until(partial(fires, watched, "HeadwayPoolStarving"), "a pool that starves")
    (busy.folder / "go").touch()
    until(partial(is_quiet, watched, "HeadwayPoolStarving"), "a pool that does not")

    for kind, alert in (("worker", "HeadwayNoWorker"), ("scheduler", "HeadwayNoScheduler")):
        cluster.end(cluster.member(f"{kind}-1"))
        cluster.trigger("succeeds")
        until(partial(fires, watched, alert), alert)
        port = busy.ports[ServiceKind(kind)]
        cluster.start(kind, given={f"HEADWAY_{kind.upper()}_HTTP_PORT": str(port)})
        until(partial(is_quiet, watched, alert), f"no {alert}")
