"""Errors as RFC 9457 problems; Airflow's clients read the member `detail` of the same body."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from fastapi import Request
from starlette.responses import JSONResponse, Response

from headway.domain.errors import (
    ArchiveError,
    ConflictError,
    DatabaseError,
    HeadwayError,
    LogsError,
    NotFoundError,
    RefusalError,
    RequestError,
    SecretError,
)
from headway.domain.hints import ActionCall, Hint, HintPart, Parameter

AsPage: TypeAlias = Callable[[Request, HTTPStatus, object], Response | None]
"""Returns a page that tells of an error; None for who has not asked for a page."""

PROBLEM: Final = "application/problem+json"

_OF_ERRORS: Final[Mapping[type[HeadwayError], HTTPStatus]] = {
    NotFoundError: HTTPStatus.NOT_FOUND,
    ConflictError: HTTPStatus.CONFLICT,
    RequestError: HTTPStatus.UNPROCESSABLE_ENTITY,
    RefusalError: HTTPStatus.BAD_REQUEST,
    SecretError: HTTPStatus.UNPROCESSABLE_ENTITY,
    DatabaseError: HTTPStatus.SERVICE_UNAVAILABLE,
    LogsError: HTTPStatus.SERVICE_UNAVAILABLE,
    ArchiveError: HTTPStatus.SERVICE_UNAVAILABLE,
}


def status_of(error: HeadwayError) -> HTTPStatus:
    """Return the status of an answer that tells of this error."""
    found = (status for kind, status in _OF_ERRORS.items() if isinstance(error, kind))
    return next(found, HTTPStatus.INTERNAL_SERVER_ERROR)


def of_error(request: Request, error: HeadwayError) -> Response:
    """Return the answer to a request that has failed by an error which users can act on."""
    hint = None if error.hint is None else as_data(error.hint)
    return problem(request, status_of(error), str(error), code=error.code, hint=hint)


def problem(
    request: Request,
    status: HTTPStatus,
    detail: object,
    *,
    code: str | None = None,
    headers: Mapping[str, str] | None = None,
    **members: Any,
) -> Response:
    """Return a problem of that status; members of None are left out.

    The application's `as_page`, where it has one, is asked first: browsers want pages.
    """
    app = request.scope.get("app")  # the guard around the application has none
    as_page: AsPage | None = None if app is None else app.state.as_page
    shown_page = None if as_page is None else as_page(request, status, detail)
    if shown_page is not None:
        return shown_page
    body = {
        "type": f"urn:headway:error:{code or status.phrase.lower().replace(' ', '_')}",
        "title": status.phrase,
        "status": status.value,
        "detail": detail,
        "instance": request.url.path,
        "code": code,
        **members,
    }
    shown = {name: value for name, value in body.items() if value is not None}
    return JSONResponse(shown, status, headers, media_type=_media_type(request, status))


def as_data(hint: Hint) -> list[Any]:
    """Return a hint as texts, actions with their arguments, and parameters."""
    return [_part(part) for part in hint.parts]


def _part(part: HintPart) -> Any:
    match part:
        case ActionCall(action, arguments):
            return {"action": str(action), "arguments": dict(arguments)}
        case Parameter(name, value):
            return {"parameter": name, "value": value}
    return part


def _media_type(request: Request, status: HTTPStatus) -> str:
    """Return the media type of a problem: some clients of Airflow know plain JSON alone.

    `airflowctl` ends by a fault of its own at an error of the server in plain JSON; by any other
    it sends the request again.
    """
    own = request.url.path.startswith("/headway/")
    asked = PROBLEM in request.headers.get("accept", "")
    servers = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return PROBLEM if own or asked or servers else "application/json"
