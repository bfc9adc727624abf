"""The API of one test: its application, accounts with their tokens, and clients that ask it."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from airflow_client.client import ApiClient, Configuration
from fastapi import FastAPI
from sqlalchemy import Engine
from starlette.testclient import TestClient

from headway.actions.accounts import change, tokens
from headway.actions.accounts.tokens import TokenRequest
from headway.actions.change import Author
from headway.domain.accounts import Account, AccountRole
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway.testing.data.cheap_hashes import hash_at_little_cost
from headway_api.app import build, guarded
from headway_api.auth.database import ApiDatabase, reading
from headway_api.http.server import serving

PASSWORD = "correct horse battery"
AUTHOR = Author("user:test")


@dataclass(frozen=True, slots=True)
class Api:
    """The application on a fresh database."""

    app: FastAPI
    settings: ApiSettings
    engine: Engine

    def account(
        self,
        name: str,
        role: AccountRole = AccountRole.ADMIN,
        bundles: tuple[str, ...] | None = None,
    ) -> Account:
        """Create an account, whose password is PASSWORD."""
        with self.engine.begin() as conn:
            wanted = Account(name, role, bundles)
            return change.create_account(conn, wanted, AUTHOR, password=PASSWORD)

    def token(
        self,
        name: str,
        role: AccountRole = AccountRole.ADMIN,
        bundles: tuple[str, ...] | None = None,
    ) -> str:
        """Create an account and return a token of it."""
        self.account(name, role, bundles)
        with self.engine.begin() as conn:
            return tokens.create_token(conn, TokenRequest(name, "test"), AUTHOR).secret

    def client(self, token: str | None = None) -> TestClient:
        """Return a client that sends this token."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return TestClient(
            guarded(self.app, self.settings), base_url="http://localhost", headers=headers
        )


@dataclass(frozen=True, slots=True)
class Airflow:
    """The application on a port of this machine, for clients of Airflow as they are."""

    api: Api
    url: str
    closing: ExitStack

    def client(
        self,
        name: str = "airflow",
        role: AccountRole = AccountRole.ADMIN,
        bundles: tuple[str, ...] | None = None,
    ) -> ApiClient:
        """Create an account and return a client of Airflow with a token of it."""
        token = self.api.token(name, role, bundles)
        made = ApiClient(Configuration(host=self.url, access_token=token))
        self.closing.callback(made.rest_client.pool_manager.clear)
        return made


@pytest.fixture
def api(
    engine: Engine, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Api]:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path / "home"))
    hash_at_little_cost(monkeypatch)
    settings = read(ApiSettings, port=0)
    reads = reading(database_url, settings)
    yield Api(build(ApiDatabase(reads, engine), settings), settings, engine)
    reads.dispose()


@pytest.fixture
def admin(api: Api) -> Iterator[TestClient]:
    """A client of an admin."""
    with api.client(api.token("admin")) as client:
        yield client


@pytest.fixture
def airflow(api: Api) -> Iterator[Airflow]:
    with ExitStack() as closing:
        port = closing.enter_context(serving(lambda: guarded(api.app, api.settings), api.settings))
        yield Airflow(api, f"http://127.0.0.1:{port}", closing)


@pytest.fixture
def airflow_client(airflow: Airflow) -> ApiClient:
    """A client of Airflow with a token of an admin."""
    return airflow.client()
