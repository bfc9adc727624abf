"""A request changes threads once: for what it asks the database, and for its answer."""

from threading import get_ident
from typing import Annotated, Any

import anyio
import pytest
from fastapi import APIRouter, Depends, FastAPI, Response
from pydantic import BaseModel
from starlette.testclient import TestClient

from headway_api.http.handlers import Deferred
from headway_api.http.routers import QuickRoute, add_routes

router = APIRouter(route_class=QuickRoute)


class Threads(BaseModel):
    """In which thread the parameter was made, and in which the handler ran."""

    made: int
    ran: int


async def asked() -> Deferred:
    return Deferred(get_ident)


Made = Annotated[int, Depends(asked)]


@router.get("/plain", status_code=203)
def plain(made: Made) -> Threads:
    return Threads(made=made, ran=get_ident())


@router.get("/with-headers")
def with_headers(made: Made, response: Response) -> Threads:
    response.headers["X-Told"] = "yes"
    return Threads(made=made, ran=get_ident())


@router.get("/coroutine")
async def coroutine(made: Made) -> Threads:
    return Threads(made=made, ran=get_ident())


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()
    add_routes(app, router)
    return TestClient(app)


def test_a_request_changes_threads_once(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, run_sync = [], anyio.to_thread.run_sync

    def counted(*given: Any, **named: Any) -> Any:
        changes.append(given)
        return run_sync(*given, **named)

    monkeypatch.setattr(anyio.to_thread, "run_sync", counted)
    answer = client.get("/plain")

    assert answer.status_code == 203
    assert answer.json()["made"] == answer.json()["ran"]
    assert len(changes) == 1


def test_headers_that_a_handler_sets_are_sent(client: TestClient) -> None:
    answer = client.get("/with-headers")

    assert answer.headers["X-Told"] == "yes"
    assert answer.json()["made"] == answer.json()["ran"]


def test_a_coroutine_asks_the_database_in_another_thread(client: TestClient) -> None:
    answer = client.get("/coroutine").json()

    assert answer["made"] != answer["ran"]
