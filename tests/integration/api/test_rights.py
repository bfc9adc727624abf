"""Who may do what: every operation of the API for each role, in the own and in another bundle.

The operations are those of the application, so that a new one is tried too.
"""

from collections.abc import Iterator
from typing import Final

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.requests import BODIES, HIDDEN, QUERIES, Operation, filled
from tests.integration.api.rows import content

from headway.domain.accounts import AccountRole
from headway.runtime.settings.configuration import home, make_home
from headway.runtime.settings.secret_keys import make_keys_file
from headway.testing.data import seed

OPEN: Final = frozenset(
    {
        ("POST", "/auth/token"),
        ("POST", "/auth/token/cli"),
        ("POST", "/auth/session"),
        ("POST", "/auth/session/link"),
        ("DELETE", "/auth/session"),
        ("GET", "/api/v2/version"),
        ("GET", "/api/v2/monitor/health"),
    }
)
"""Operations for those who are not signed in."""

STREAMS: Final = frozenset({"/headway/v1/live", "/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/wait"})
"""Operations that answer for as long as they are read: their own tests say who may."""


def operations(api: Api) -> Iterator[Operation]:
    """Yield the method and the path of each operation."""
    for path, methods in api.app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), path


def answering(api: Api) -> Iterator[Operation]:
    """Yield the operations whose answers end."""
    yield from (each for each in operations(api) if each[1] not in STREAMS)


def ask(client: TestClient, operation: Operation) -> tuple[int, str]:
    """Return the status and the text of the answer."""
    method, path = operation
    query, body = QUERIES.get(operation, {}), BODIES.get(operation)
    with client.stream(method, filled(path), json=body, params=query) as answer:
        answer.read()
        return answer.status_code, answer.text


@pytest.fixture
def hidden(api: Api) -> Api:
    """A DAG, its run and its tasks, in a bundle of their own."""
    make_keys_file(make_home(home()))
    spec = seed.dag(seed.task(f"{HIDDEN}_task"), dag_id=HIDDEN)
    seed.running(api.engine, spec)
    with api.engine.begin() as conn:
        conn.execute(text("INSERT INTO dag_bundle (name) VALUES ('other') ON CONFLICT DO NOTHING"))
        conn.execute(text("UPDATE dag SET bundle = 'other' WHERE dag_id = :dag"), {"dag": HIDDEN})
        conn.execute(
            text("UPDATE dag_run SET run_id = 'manual__0' WHERE dag_id = :dag"), {"dag": HIDDEN}
        )
    return api


def test_nothing_is_answered_to_who_is_not_signed_in(hidden: Api) -> None:
    tried = [each for each in operations(hidden) if each not in OPEN]
    with hidden.client() as client:
        answers = {each: ask(client, each)[0] for each in tried}

    assert len(tried) >= 1
    assert {each: status for each, status in answers.items() if status != 401} == {}


@pytest.mark.parametrize("role", [AccountRole.VIEWER, AccountRole.OPERATOR])
def test_an_account_of_another_bundle_sees_nothing_of_it(hidden: Api, role: AccountRole) -> None:
    """No answer has a name of the other bundle, but for the one that the request itself has."""
    token = hidden.token("ann", role, ("own",))
    shown: dict[Operation, str] = {}
    with hidden.client(token) as client:
        for each in answering(hidden):
            status, answer = ask(client, each)
            if status < 300 and HIDDEN in answer:
                shown[each] = answer[:200]
            assert status < 500 or status == 501, f"{each}: {status} {answer[:300]}"

    assert shown == {}


def test_each_operation_is_tried_by_a_request_that_is_well_formed(hidden: Api) -> None:
    """The other tests prove nothing of an operation whose request is malformed.

    One is refused because the task is not a mapped one.
    """
    with hidden.client(hidden.token("admin")) as client:
        answers = {each: ask(client, each) for each in answering(hidden) if each not in OPEN}

    wrong = {
        each: it[1]
        for each, it in answers.items()
        if it[0] in {405, 422}
        if not each[1].endswith("/listMapped")
    }
    assert wrong == {}, "\n".join(f"{each}: {told}" for each, told in wrong.items())


def test_a_viewer_changes_no_row(hidden: Api) -> None:
    token = hidden.token("ann", AccountRole.VIEWER)
    before = content(hidden)
    with hidden.client(token) as client:
        answers = {
            each: ask(client, each)
            for each in answering(hidden)
            if each not in OPEN and not each[1].startswith("/auth/")
        }

    changes = {each: it for each, it in answers.items() if each[0] != "GET" and it[0] < 300}
    assert content(hidden) == before
    reads = ("/list", "dry_run", "/simulate")
    assert {each for each in changes if not each[1].endswith(reads)} == set()
