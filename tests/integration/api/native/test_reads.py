"""Reads write nothing, and the logins of the API may do what its operations need."""

from collections.abc import Iterator
from typing import Any, Final

import httpx
import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, V1, sql, store_code

from headway.db.access.logins import Login
from headway.db.core import engine as engines
from headway.db.execution import handles
from headway.domain.accounts import AccountRole
from headway.testing.data import seed
from headway.testing.database import logins
from headway_api.app import build
from headway_api.auth.database import ApiDatabase, reading

OF: Final = {
    "{dag_id}": "etl",
    "{run_id}": RUN,
    "{task_id}": "a",
    "{number}": "1",
    "{old}": "1",
    "{new}": "2",
    "{path}": "etl.py",
    "{backfill_id}": "1",
    "{name}": "vera",
}
GIVEN: Final = {"from": "2024-01-01", "to": "2024-01-31", "q": "e"}
OF_TIMES: Final = {"from": "2024-01-01T00:00:00Z", "to": "2024-01-31T00:00:00Z"}
OF_ONE: Final = {"timetable": OF_TIMES, "cost": OF_TIMES}
"""The parameters of paths that end so."""
AUTHENTICATION: Final = frozenset({"api_token", "api_session", "api_login_limit"})

TABLES = text("""
    SELECT relname FROM pg_class
     WHERE relkind = 'r' AND relnamespace = CAST(current_schema() AS regnamespace)
     ORDER BY relname
""")


def reads(api: Api) -> Iterator[str]:
    """Yield the path of each operation that reads, but for streams of events."""
    for path, methods in api.app.openapi()["paths"].items():
        if path.startswith(V1) and "get" in methods and not path.startswith(f"{V1}/live"):
            for name, value in OF.items():
                path = path.replace(name, value)  # noqa: PLW2901
            yield path


def ask(client: TestClient, path: str, **more: Any) -> int:
    given = OF_ONE.get(path.rpartition("/")[2], GIVEN)
    answer: httpx.Response = client.get(path, params={**given, **more})
    return int(answer.status_code)


def rows(api: Api) -> dict[str, tuple[int, str]]:
    """Return how many rows each table has, and a digest of the transactions that wrote them."""
    with api.engine.connect() as conn:
        found = {}
        for table in conn.scalars(TABLES).all():
            counted = text(
                "SELECT count(*), coalesce(md5(string_agg(CAST(xmin AS text) || CAST(ctid AS text),"
                f" '' ORDER BY ctid)), '') FROM {table}"
            )
            if table not in AUTHENTICATION:
                number, digest = conn.execute(counted).one()
                found[table] = number, digest
        return found


@pytest.fixture
def filled(api: Api) -> Api:
    """A DAG with code, versions and a run, and rows of other kinds."""
    store_code(api.engine, seed.dag(seed.task("b")), {"etl.py": b"one\n"})
    store_code(api.engine, seed.dag(seed.task("a")), {"etl.py": b"two\n"})
    [key] = seed.running(api.engine, seed.dag(seed.task("a")))
    with api.engine.begin() as conn:
        handles.save(conn, key, {"kind": "connect"})
    seed.register(api.engine)
    sql(
        api.engine,
        "INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)"
        " VALUES ('etl', now(), now(), 1, 1)",
    )
    api.account("vera", AccountRole.VIEWER)
    return api


def test_each_read_answers_and_writes_no_row(filled: Api) -> None:
    paths = list(reads(filled))
    with filled.client(filled.token("ann")) as client:
        before = rows(filled)
        answers = {path: ask(client, path) for path in paths}
        streamed = {path: ask(client, path, format="csv") for path in paths}
        again = client.get(paths[0], headers={"If-None-Match": "*"}).status_code

    assert len(paths) >= 25
    assert {path: status for path, status in answers.items() if status != 200} == {}
    assert {path: status for path, status in streamed.items() if status != 200} == {}
    assert again == 304
    assert rows(filled) == before


def test_a_write_would_be_seen(filled: Api) -> None:
    before = rows(filled)
    sql(filled.engine, "UPDATE dag SET paused = paused WHERE dag_id = 'etl'")

    assert rows(filled) != before


@pytest.fixture
def by_logins(filled: Api, database_url: str) -> Iterator[Api]:
    """The application with the logins that it has in an installation."""
    readonly = reading(logins.address(database_url, Login.READONLY), filled.settings)
    own = engines.connect(logins.address(database_url, Login.API), name="test", pool_size=4)
    yield Api(build(ApiDatabase(readonly, own), filled.settings), filled.settings, filled.engine)
    readonly.dispose()
    own.dispose()


def test_the_login_of_reads_may_read_all_that_is_shown(by_logins: Api) -> None:
    with by_logins.client(by_logins.token("ann")) as client:
        answers = {path: ask(client, path) for path in reads(by_logins)}
        simulated = client.post(f"{V1}/simulate", json={}).status_code

    assert {path: status for path, status in answers.items() if status != 200} == {}
    assert simulated == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"{V1}/runs/etl/{RUN}/clear", {}),
        (f"{V1}/runs/etl/{RUN}/mark", {"as": "failed"}),
        (f"{V1}/runs/etl/{RUN}/mark", {"as": "success", "tasks": ["a"]}),
        (f"{V1}/runs/etl/{RUN}/cancel", {}),
        (f"{V1}/tasks/etl/{RUN}/a/cancel", {}),
        (f"{V1}/processes/1/drain", {}),
        (f"{V1}/tokens", {"name": "ci"}),
        (f"{V1}/accounts", {"name": "x", "role": "viewer", "password": "correct horse battery"}),
    ],
)
def test_the_login_of_changes_may_make_each(
    by_logins: Api, path: str, body: dict[str, object]
) -> None:
    key = {} if path.endswith("tokens") else {"Idempotency-Key": "one"}
    with by_logins.client(by_logins.token("ann")) as client:
        answer = client.post(path, json=body, headers=key)

    assert answer.status_code in {200, 201}, answer.text


def test_the_login_of_changes_may_change_and_delete_accounts_and_tokens(by_logins: Api) -> None:
    with by_logins.client(by_logins.token("ann")) as client:
        made = client.post(f"{V1}/tokens", json={"name": "ci", "account": "vera"}).json()
        answers = [
            client.patch(f"{V1}/accounts/vera", json={"role": "operator", "disabled": True}),
            client.delete(f"{V1}/tokens/{made['id']}"),
            client.delete(f"{V1}/accounts/vera"),
        ]

    assert [answer.status_code for answer in answers] == [200, 204, 204]
