"""Browsers, as far as they read pages: clients that ask for HTML."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api

from headway.domain.accounts import AccountRole

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def browser(api: Api) -> Iterator[TestClient]:
    """A browser in which nobody is signed in."""
    with api.client() as client:
        client.headers.update(HTML)
        client.follow_redirects = False
        yield client


@pytest.fixture
def viewer(api: Api) -> Iterator[TestClient]:
    """A browser of a viewer."""
    with api.client(api.token("vera", AccountRole.VIEWER)) as client:
        client.headers.update(HTML)
        yield client


@pytest.fixture
def limited(api: Api) -> Iterator[TestClient]:
    """A browser of a viewer who sees the bundle `mine` alone."""
    with api.client(api.token("lena", AccountRole.VIEWER, ("mine",))) as client:
        client.headers.update(HTML)
        yield client
