"""Services that are started while the database is away, or that it refuses."""

from pathlib import Path
from signal import SIGTERM

import pytest
from sqlalchemy.engine import make_url

from headway.testing.database.logins import PASSWORD
from headway.testing.database.relay import relay
from headway.testing.services.cluster import ClusterMember, service_cluster
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

KINDS = ("api", "parser", "scheduler", "worker")


def until_it_waits(member: ClusterMember) -> None:
    """Wait until a service has said twice that it waits."""
    until(lambda: member.logged().count("action=wait") >= 2, f"{member.name} waiting")


@pytest.mark.regression
def test_services_wait_for_a_database_that_is_away(database_url: str, tmp_path: Path) -> None:
    with relay(database_url) as way:
        port = way.port
    with service_cluster(database_url, tmp_path) as cluster:
        urls = {
            kind: make_url(url)
            .set(host="127.0.0.1", port=port)
            .render_as_string(hide_password=False)
            for kind, url in cluster.urls.items()
        }
        started = [
            cluster.launch(kind, given={"HEADWAY_DATABASE_URL": urls[kind]}) for kind in KINDS
        ]
        for member in started:
            until_it_waits(member)
        cluster.check_alive()
        stopped = cluster.launch("worker", 2, {"HEADWAY_DATABASE_URL": urls["worker"]})
        until_it_waits(stopped)
        assert cluster.end(stopped, SIGTERM) == 0

        with relay(database_url, port):
            for member in started:
                cluster.arrived(member)
            cluster.end_all()

    for member in (*started, stopped):
        lines = member.logged().splitlines()
        waits = [line for line in lines if "action=wait" in line]
        assert all("Connection refused" in line and "next_try=" in line for line in waits)
        assert "Traceback" not in member.logged()
        assert PASSWORD not in member.logged()
        assert "action=stop" in lines[-1]


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=() if kind == "scheduler" else pytest.mark.long) for kind in KINDS],
)
def test_a_login_that_is_refused_is_not_waited_for(
    database_url: str, tmp_path: Path, kind: str
) -> None:
    with service_cluster(database_url, tmp_path) as cluster:
        wrong = make_url(cluster.urls[kind]).set(password="wrong")
        url = wrong.render_as_string(hide_password=False)
        member = cluster.launch(kind, given={"HEADWAY_DATABASE_URL": url})

        assert cluster.dismiss(member) == 6

    assert "authentication failed" in member.logged()
    assert "Traceback" not in member.logged()
