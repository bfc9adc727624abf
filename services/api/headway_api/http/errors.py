"""Have every error of a handler answered by a problem."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as NoConnectionLeft
from starlette.exceptions import HTTPException
from starlette.responses import Response

from headway.db.core.engine import is_transient
from headway.domain.errors import HeadwayError, SettingsError
from headway.runtime.daemon.loop import cause_of
from headway_api.http.problems import of_error, problem
from headway_api.http.refusals import (
    NotInHeadwayError,
    NotSignedInError,
    ProviderError,
    RoleError,
    TooManyStreamsError,
    TooManyTopicsError,
    TooManyTriesError,
    WrongPasswordError,
)

log = logging.getLogger(__name__)

_AGAIN: Final = {"Retry-After": "2"}
_REFUSALS: Final[Mapping[type[HeadwayError], HTTPStatus]] = {
    NotSignedInError: HTTPStatus.UNAUTHORIZED,
    WrongPasswordError: HTTPStatus.UNAUTHORIZED,
    RoleError: HTTPStatus.FORBIDDEN,
    TooManyTriesError: HTTPStatus.TOO_MANY_REQUESTS,
    TooManyStreamsError: HTTPStatus.TOO_MANY_REQUESTS,
    TooManyTopicsError: HTTPStatus.SERVICE_UNAVAILABLE,
    NotInHeadwayError: HTTPStatus.NOT_IMPLEMENTED,
    ProviderError: HTTPStatus.BAD_GATEWAY,
}
_CANCELLED: Final = "57014"
_OF_DATA: Final = "22"
"""The class of errors of values that are out of range, or malformed."""


def install(app: FastAPI) -> None:
    """Have the application answer all errors by problems."""
    app.add_exception_handler(HeadwayError, _known)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(DBAPIError, _of_database)
    app.add_exception_handler(NoConnectionLeft, _busy)
    app.add_exception_handler(ValueError, _of_value)
    app.add_exception_handler(Exception, _unknown)


def _known(request: Request, error: Exception) -> Response:
    assert isinstance(error, HeadwayError)
    if isinstance(error, SettingsError):
        return _misconfigured(request, error)
    status = next((its for kind, its in _REFUSALS.items() if isinstance(error, kind)), None)
    if status is None:
        return of_error(request, error)
    headers: Mapping[str, str] | None = None
    if status is HTTPStatus.UNAUTHORIZED:
        headers = {"WWW-Authenticate": 'Bearer realm="headway"'}
    elif isinstance(error, TooManyTriesError):
        headers = {"Retry-After": str(error.seconds)}
    elif status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}:
        headers = _AGAIN
    elif status is HTTPStatus.BAD_GATEWAY:
        log.warning("action=sign_in: %s", error)
    return problem(request, status, str(error), code=error.code, headers=headers)


def _misconfigured(request: Request, error: Exception) -> Response:
    """Say in the log what is wrong, which may name files of this machine, and not in the answer."""
    log.error("action=request path=%s: %s", request.url.path, error)
    return problem(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "A setting of the api service is wrong. The log of the api service says which one.",
        code=SettingsError.code,
    )


def _malformed(request: Request, error: Exception) -> Response:
    """Answer as FastAPI does, whose list of details is what Airflow's clients know."""
    assert isinstance(error, RequestValidationError)
    details = [
        {"type": each["type"], "loc": list(each["loc"]), "msg": each["msg"]}
        for each in error.errors()
    ]
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    return problem(request, status, details, code="invalid_request")


def _of_value(request: Request, error: Exception) -> Response:
    """Refuse text that the database cannot hold; any other such error is a fault."""
    if not isinstance(error, UnicodeEncodeError) and "NUL" not in str(error):
        return _unknown(request, error)
    detail = "The request has text with a null character, or with half of a surrogate pair."
    return problem(request, HTTPStatus.UNPROCESSABLE_ENTITY, detail, code="invalid_request")


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    detail = error.detail if error.detail != status.phrase else _plain(request, status)
    return problem(request, status, detail, headers=error.headers)


def _plain(request: Request, status: HTTPStatus) -> str:
    if status is HTTPStatus.NOT_FOUND:
        return f"There is nothing at {request.url.path[:200]}; /openapi.json lists all paths."
    if status is HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{request.method} is not possible at {request.url.path[:200]}."
    return status.phrase


def _of_database(request: Request, error: Exception) -> Response:
    assert isinstance(error, DBAPIError)
    if getattr(error.orig, "pgcode", None) == _CANCELLED:
        return problem(
            request,
            HTTPStatus.SERVICE_UNAVAILABLE,
            "The database took too long. Ask for less: fewer rows, or a narrower filter.",
            code="too_slow",
            headers=_AGAIN,
        )
    if str(getattr(error.orig, "pgcode", None)).startswith(_OF_DATA):
        detail = f"The database cannot hold a value of the request: {cause_of(error)}"
        return problem(
            request, HTTPStatus.UNPROCESSABLE_ENTITY, detail.splitlines()[0], code="invalid_request"
        )
    if not is_transient(error):
        return _unknown(request, error)
    log.warning("action=request path=%s: %s", request.url.path, cause_of(error))
    return _busy(request, error)


def _busy(request: Request, _error: Exception) -> Response:
    return problem(
        request,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "The database does not answer at present. Try again.",
        code="database_unusable",
        headers=_AGAIN,
    )


def _unknown(request: Request, error: Exception) -> Response:
    log.error("action=request path=%s has failed", request.url.path, exc_info=error)
    return problem(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "The request has failed by a fault of Headway. The log of the api service has the cause.",
        code="fault",
    )
