"""A real api process: killed, cut off from the database, stopped while it answers."""

import json
from collections.abc import Iterator
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

import pytest
from sqlalchemy.engine import make_url

from headway.actions.accounts import change, tokens
from headway.actions.accounts.tokens import TokenRequest
from headway.actions.change import Author
from headway.cli.screen.errors import ExitStatus
from headway.db.reads import process_views
from headway.domain.accounts import Account, AccountRole
from headway.testing.database.relay import relay
from headway.testing.metrics.scraping import free_port, scrape
from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.time.clock import PATIENCE, until

pytestmark = pytest.mark.services

AUTHOR = Author("user:test")


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    with service_cluster(database_url, tmp_path) as cluster:
        yield cluster


@pytest.fixture
def token(cluster: ServiceCluster) -> str:
    with cluster.engine.begin() as conn:
        wanted = Account("ann", AccountRole.ADMIN, None)
        change.create_account(conn, wanted, AUTHOR, password="correct horse battery")
        return tokens.create_token(conn, TokenRequest("ann", "test"), AUTHOR).secret


def asked(port: int, token: str, path: str = "/auth/me") -> tuple[int, dict[str, Any]]:
    """The status and the body of an answer; 0 if nobody answers."""
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/problem+json"}
    try:
        answer: Any = urlopen(
            Request(f"http://127.0.0.1:{port}{path}", headers=headers), timeout=PATIENCE
        )
    except HTTPError as error:
        answer = error
    except (URLError, ConnectionError):
        return 0, {}
    with answer:
        return answer.status, json.load(answer)


def test_one_api_answers_after_the_other_was_killed(cluster: ServiceCluster, token: str) -> None:
    ports = [free_port(), free_port()]
    first, _ = (
        cluster.start("api", number, {"HEADWAY_API_PORT": str(port)})
        for number, port in enumerate(ports, 1)
    )
    for port in ports:
        until(lambda port=port: asked(port, token)[0] == 200, "an API")  # type: ignore[misc]

    cluster.end(first, SIGKILL)

    assert [asked(port, token)[0] for port in ports] == [0, 200]
    cluster.start("api", 3, {"HEADWAY_API_PORT": str(ports[0])})
    until(lambda: asked(ports[0], token)[0] == 200, "the API in its place")


def test_an_api_without_its_database_says_so_and_comes_back(
    cluster: ServiceCluster, token: str, database_url: str
) -> None:
    port = free_port()
    with relay(database_url) as way:
        url = make_url(cluster.urls["api"]).set(host="127.0.0.1", port=way.port)
        given = {
            "HEADWAY_API_PORT": str(port),
            "HEADWAY_DATABASE_URL": url.render_as_string(hide_password=False),
        }
        member = cluster.start("api", 1, given)
        until(lambda: asked(port, token)[0] == 200, "an API")
        at = way.port
    status, problem = asked(port, token)

    assert (status, problem["code"]) == (503, "database_unusable")
    with relay(database_url, at):
        until(lambda: asked(port, token)[0] == 200, "an API that has its database again")
        assert cluster.end(member, SIGTERM) == 0
    assert "Traceback" not in member.logged()


def test_an_api_that_is_told_to_stop_leaves(cluster: ServiceCluster, token: str) -> None:
    port = free_port()
    member = cluster.start("api", 1, {"HEADWAY_API_PORT": str(port)})
    until(lambda: asked(port, token)[0] == 200, "an API")

    assert cluster.end(member, SIGTERM) == 0

    with cluster.engine.connect() as conn:
        assert process_views.processes(conn, "api") == []


LATE = {"HEADWAY_API_LOAD_AT_FIRST_REQUEST": "yes"}


def test_an_api_that_loads_late_does_so_for_its_first_client(
    cluster: ServiceCluster, token: str
) -> None:
    port = free_port()
    member = cluster.start("api", 1, {"HEADWAY_API_PORT": str(port), **LATE})
    until(lambda: "action=listen" in member.logged(), "an API that listens")
    assert "action=load" not in member.logged()

    assert asked(port, token)[0] == 200

    assert member.logged().count("action=load") == 1
    assert asked(port, token)[0] == 200
    assert cluster.end(member, SIGTERM) == 0
    assert member.logged().count("action=load") == 1


def test_an_api_that_nobody_has_asked_leaves_without_loading(cluster: ServiceCluster) -> None:
    member = cluster.start("api", 1, {"HEADWAY_API_PORT": "0", **LATE})
    until(lambda: "action=listen" in member.logged(), "an API that listens")

    assert cluster.end(member, SIGTERM) == 0

    assert "action=load" not in member.logged()
    with cluster.engine.connect() as conn:
        assert process_views.processes(conn, "api") == []


def test_an_api_that_cannot_be_loaded_late_ends(
    cluster: ServiceCluster, token: str, tmp_path: Path
) -> None:
    (tmp_path / "authlib.py").write_text("raise ModuleNotFoundError('authlib')\n")
    port = free_port()
    oidc = {"HEADWAY_OIDC_ISSUER": "https://id.example", "HEADWAY_OIDC_CLIENT_ID": "headway"}
    given = {"HEADWAY_API_PORT": str(port), "PYTHONPATH": str(tmp_path), **oidc, **LATE}
    member = cluster.start("api", 1, given)
    until(lambda: "action=listen" in member.logged(), "an API that listens")

    assert asked(port, token)[0] == 0

    assert cluster.dismiss(member) == ExitStatus.USAGE
    assert "install headway[api,oidc]" in member.logged()


def test_requests_are_counted_by_the_path_of_the_document(
    cluster: ServiceCluster, token: str
) -> None:
    port, shown = free_port(), free_port()
    given = {"HEADWAY_API_PORT": str(port), "HEADWAY_API_HTTP_PORT": str(shown)}
    cluster.start("api", 1, given)
    until(lambda: asked(port, token)[0] == 200, "an API")
    before = scrape(shown)
    name = "headway_api_requests_total"
    of_me = (name, frozenset({"/auth/me", "2xx"}))
    of_none = (name, frozenset({"none", "4xx"}))

    asked(port, token)
    asked(port, token, "/nowhere/17")
    asked(port, token, "/api/v2/pools/default_pool")

    after = scrape(shown)
    assert after[name, frozenset({"/api/v2/pools/{pool_name}", "2xx"})] == 1
    assert after[of_me] == before[of_me] + 1
    assert after[of_none] == before.get(of_none, 0.0) + 1
    assert "17" not in {label for _, labels in after for label in labels}
    assert after["headway_api_running_requests", frozenset({"requests"})] == 0
