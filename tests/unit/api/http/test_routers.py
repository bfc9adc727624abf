"""Routes: each is made once, and tells its own paths from all others as its pattern does."""

from collections import Counter
from itertools import product

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from headway.db.core import engine as engines
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway_api.app import build
from headway_api.auth.database import ApiDatabase
from headway_api.http.routers import QuickRoute

NAMES = ("etl", "a/b", "dagRuns", "7", "")


@pytest.fixture(scope="module")
def app() -> FastAPI:
    nowhere = engines.connect("postgresql://", pooler=False)
    return build(ApiDatabase(nowhere, nowhere), read(ApiSettings))


def scope(path: str) -> Scope:
    return {"type": "http", "method": "GET", "path": path, "headers": []}


def paths_of(route: APIRoute) -> set[str]:
    """The path with each of these names in the places of its parameters, and one with a slash."""
    names = dict.fromkeys(route.param_convertors)
    found = {route.path_format.format_map(dict.fromkeys(names, name)) for name in NAMES}
    return found | {f"{path}/" for path in found}


def test_each_path_and_method_has_one_route(app: FastAPI) -> None:
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    found = Counter((route.path, method) for route in routes for method in route.methods or ())

    assert len(routes) > 150
    assert set(found.values()) == {1}


def test_a_route_matches_what_its_pattern_does(app: FastAPI) -> None:
    routes = [route for route in app.routes if isinstance(route, QuickRoute)]
    paths = sorted({path for route in routes for path in paths_of(route)})

    for route, path in product(routes, paths):
        assert route.matches(scope(path))[0] == APIRoute.matches(route, scope(path))[0], path


def test_most_paths_are_told_from_others_without_a_pattern(
    app: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, usual = "/api/v2/dags/etl/dagRuns/r/taskInstances", APIRoute.matches
    tried: list[str] = []

    def matches(route: APIRoute, scope: Scope) -> tuple[Match, Scope]:
        tried.append(route.path)
        return usual(route, scope)

    monkeypatch.setattr(APIRoute, "matches", matches)
    for route in app.routes:
        route.matches(scope(path))

    assert "/api/v2/dags/{dag_id}/dagRuns/{dag_run_id}/taskInstances" in tried
    assert len(tried) < 50
