"""Who may do what: every operation of the API for each role, in the own and in another bundle.

The operations are those of the application, so that a new one is tried too.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.rows import content

from headway.domain.accounts import AccountRole
from headway.testing.data import seed

HIDDEN: Final = "zz_hidden"
"""What every name of the other bundle contains."""

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

NAMES: Final[Mapping[str, str]] = {
    "dag_id": HIDDEN,
    "dag": HIDDEN,
    "dag_run_id": "manual__0",
    "run_id": "manual__0",
    "run": "manual__0",
    "task_id": f"{HIDDEN}_task",
    "task": f"{HIDDEN}_task",
    "map_index": "-1",
    "task_try_number": "1",
    "try_number": "1",
    "attempt": "1",
    "version_number": "1",
    "version": "1",
    "number": "1",
    "old": "1",
    "new": "1",
    "path": f"{HIDDEN}.py",
    "xcom_key": "return_value",
    "key": "return_value",
    "pool_name": "default_pool",
    "name": "none",
    "variable_key": "none",
    "connection_id": "none",
    "backfill_id": "1",
    "id": "1",
    "event_log_id": "1",
    "import_error_id": "1",
    "file_token": "none",
    "account": "none",
    "process_id": "1",
    "token_id": "99",
}

Operation = tuple[str, str]

QUERIES: Final[Mapping[Operation, Mapping[str, str]]] = {
    ("PATCH", "/api/v2/dags"): {"dag_id_pattern": "~"},
    ("GET", "/headway/v1/dags/{dag_id}/calendar"): {"from": "2024-01-01", "to": "2024-02-01"},
    ("GET", "/headway/v1/search"): {"q": HIDDEN},
}
"""The query of each operation that needs one."""

BODIES: Final[Mapping[Operation, Any]] = {
    ("PATCH", "/api/v2/dags"): {"is_paused": True},
    ("PATCH", "/api/v2/dags/{dag_id}"): {"is_paused": True},
    ("POST", "/headway/v1/runs/{dag_id}/{run_id}/mark"): {"as": "failed"},
    ("POST", "/headway/v1/simulate"): {"pools": {"default_pool": 0}},
    ("POST", "/headway/v1/tokens"): {"name": "another", "account": "admin"},
    ("POST", "/headway/v1/accounts"): {
        "name": "another",
        "role": "viewer",
        "password": "correct horse battery",
    },
    ("PATCH", "/headway/v1/accounts/{name}"): {"role": "viewer"},
}
"""The body of each operation that needs one."""


def operations(api: Api) -> Iterator[Operation]:
    """Yield the method and the path of each operation."""
    for path, methods in api.app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), path


def filled(path: str) -> str:
    """Return a path with names of the hidden bundle for its parameters."""
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: NAMES[found.group(1)], path)


def ask(client: TestClient, operation: Operation) -> tuple[int, str]:
    """Return the status and the text of the answer; a stream is not read to its end."""
    method, path = operation
    query, body = QUERIES.get(operation, {}), BODIES.get(operation)
    with client.stream(method, filled(path), json=body, params=query) as answer:
        if answer.headers.get("content-type", "").startswith("text/event-stream"):
            return answer.status_code, ""
        answer.read()
        return answer.status_code, answer.text


@pytest.fixture
def hidden(api: Api) -> Api:
    """A DAG, its run and its tasks, in a bundle of their own."""
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
        for each in operations(hidden):
            status, answer = ask(client, each)
            if status < 300 and HIDDEN in answer:
                shown[each] = answer[:200]
            assert status < 500 or status == 501, f"{each}: {status} {answer[:300]}"

    assert shown == {}


def test_each_operation_is_tried_by_a_request_that_is_well_formed(hidden: Api) -> None:
    """The other tests prove nothing of an operation whose request is malformed."""
    with hidden.client(hidden.token("admin")) as client:
        answers = {each: ask(client, each) for each in operations(hidden) if each not in OPEN}

    assert {each: it for each, it in answers.items() if it[0] in {405, 422}} == {}


def test_a_viewer_changes_no_row(hidden: Api) -> None:
    token = hidden.token("ann", AccountRole.VIEWER)
    before = content(hidden)
    with hidden.client(token) as client:
        answers = {
            each: ask(client, each)
            for each in operations(hidden)
            if each not in OPEN and not each[1].startswith("/auth/")
        }

    changes = {each: it for each, it in answers.items() if each[0] != "GET" and it[0] < 300}
    assert content(hidden) == before
    reads = ("/list", "dry_run", "/simulate")
    assert {each for each in changes if not each[1].endswith(reads)} == set()
