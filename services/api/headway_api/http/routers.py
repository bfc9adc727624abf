"""Routers of the paths below one prefix, and how their routes become the application's."""

from collections.abc import Callable
from typing import Any, Final

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Scope

from headway_api.http.documented import USUAL, Documented
from headway_api.http.handlers import in_one_thread

AIRFLOW: Final = "/api/v2"
NATIVE: Final = "/headway/v1"


class QuickRoute(APIRoute):
    """A route that tells most other paths from its own without its regular expression.

    Of some two hundred routes each request tries half.  Its handler runs in one thread.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **named: Any) -> None:
        super().__init__(path, in_one_thread(endpoint, named.get("status_code")), **named)
        self._begin, self._end = path.partition("{")[0], path.rpartition("}")[2]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Tell whether a request is for this path, and for one of its methods."""
        path: str = scope["path"]
        if path.startswith(self._begin) and path.endswith(self._end):
            return super().matches(scope)
        return Match.NONE, {}


def airflow_router(tag: str, path: str = "", responses: Documented | None = None) -> APIRouter:
    """Return a router of paths of Airflow's REST API, below `path` if it is given."""
    return APIRouter(
        prefix=AIRFLOW + path,
        tags=[tag],
        responses={**USUAL, **(responses or {})},
        route_class=QuickRoute,
    )


def native_router(tag: str) -> APIRouter:
    """Return a router of paths of Headway's own."""
    return APIRouter(
        prefix=NATIVE,
        tags=[tag],
        responses=USUAL,
        generate_unique_id_function=_native_id,
        route_class=QuickRoute,
    )


def add_routes(app: FastAPI, *routers: APIRouter) -> None:
    """Have the application answer at these routers' paths.

    `include_router` would make each route a second time, and look for that of a request thrice.
    """
    for router in routers:
        app.router.routes.extend(router.routes)


def _native_id(route: APIRoute) -> str:
    """Return what clients call an operation."""
    return f"headway_{route.name}"
