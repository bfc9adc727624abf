"""The application: routes, errors, and the layer that refuses strange hosts and other sites."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from anyio import to_thread
from fastapi import FastAPI
from starlette.types import ASGIApp

from headway import __version__
from headway.domain.errors import SettingsError
from headway.metrics.api import LIVE_BYTES, LIVE_TOPICS
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.settings.api import ApiSettings
from headway.runtime.settings.configuration import read
from headway.runtime.settings.oidc import OidcSettings
from headway.runtime.settings.scheduler import SchedulerSettings
from headway_api.airflow import router as airflow_routes
from headway_api.auth import link_page
from headway_api.auth import routes as auth_routes
from headway_api.auth.database import ApiDatabase
from headway_api.http import errors
from headway_api.http.documented import DocumentedApp
from headway_api.http.guard import RequestGuard
from headway_api.http.measured import measured
from headway_api.http.routers import add_routes
from headway_api.live import page_routes as live_page_routes
from headway_api.live import routes as live_routes
from headway_api.live.hub import LiveHub
from headway_api.live.shared_pages import SharedPages
from headway_api.native import routes as native_routes
from headway_api.pages import routes as page_routes
from headway_api.pages.frame import assets, problems
from headway_api.pages.logs.log_stream import LogStreams

DESCRIPTION: Final = (
    "Headway's API. Paths under /api/v2 have the shapes of Airflow's REST API v2; paths under "
    "/headway/v1 are Headway's own."
)


def build(database: ApiDatabase, given: ApiSettings, oidc: OidcSettings | None = None) -> FastAPI:
    """Return the application, without the guard that stands around it."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = given.threads
        live.begin()
        try:
            yield
        finally:
            live.close()

    live = LiveHub(database, given)
    LIVE_TOPICS.read_by(live.topics)
    LIVE_BYTES.read_by(live.bytes_kept)
    app = DocumentedApp(
        title="Headway",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.database, app.state.settings, app.state.live = database, given, live
    app.state.shared_pages = SharedPages(max(given.threads // 2, 1), live.checks.ended_by_now)
    app.state.scheduler = read(SchedulerSettings)  # of each request it would take milliseconds
    app.state.as_page, app.state.log_streams = problems.answer, LogStreams()
    errors.install(app)
    add_routes(app, assets.router)  # first, for a page has many files
    add_routes(app, auth_routes.router, link_page.router, *airflow_routes.ROUTERS)
    if oidc is not None and oidc.issuer is not None:
        _add_oidc(app, oidc)
    add_routes(app, *native_routes.ROUTERS, live_routes.router, live_page_routes.router)
    add_routes(app, *page_routes.ROUTERS)
    return app


def _add_oidc(app: FastAPI, given: OidcSettings) -> None:
    """Have people sign in by OpenID Connect; what that imports is loaded here alone."""
    try:
        from headway_api.auth.oidc import routes
        from headway_api.auth.oidc.provider import OidcProvider
    except ModuleNotFoundError as error:
        raise SettingsError(
            "HEADWAY_OIDC_ISSUER is set, and a package is missing that it needs; "
            "install headway[api,oidc]."
        ) from error
    app.state.oidc = OidcProvider(given, SystemClock())
    add_routes(app, routes.router)


def guarded(app: FastAPI, given: ApiSettings) -> ASGIApp:
    """Return the application behind the layers that measure and refuse strange hosts and sites."""
    return measured(RequestGuard(app, given.allowed_hosts), SystemClock())
