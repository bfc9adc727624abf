"""How the errors of routes are documented: every route says the statuses that it may answer with.

A router has `responses=USUAL`; a route adds what else it answers: `responses=errors(404, 409)`.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

from headway_api.http.problems import PROBLEM

Documented: TypeAlias = dict[int | str, dict[str, Any]]


class ProblemBody(BaseModel):
    """What has gone wrong (RFC 9457).

    `detail` is a sentence; of a malformed request (422) it is a list of what is malformed, where.
    """

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str | list[dict[str, Any]]
    instance: str
    code: str | None = None
    hint: list[str | dict[str, Any]] | None = None


_BODY: Final = {"schema": {"$ref": f"#/components/schemas/{ProblemBody.__name__}"}}
_CONTENT: Final = {"application/json": _BODY, PROBLEM: _BODY}

_MEANINGS: Final[Mapping[int, str]] = {
    400: "The request is refused, or its body cannot be read.",
    401: "The request has no valid token or session.",
    403: "The account's role may not do that, or another site sent the request.",
    404: "There is no such thing, or the account may not see it.",
    409: "The request contradicts what is there.",
    421: "The API is not reached under this host name.",
    422: "A parameter or the body is malformed, or contradicts another one.",
    429: "There were too many tries, or there are too many streams.",
    501: "Headway has no such thing.",
    502: "The OpenID Connect provider cannot be reached, or breaks the protocol.",
    503: "The database, or a place of logs, does not answer at present, or took too long.",
}


class DocumentedApp(FastAPI):
    """An application whose document has the body of errors once, to which all routes refer.

    FastAPI would make a model of it for each status of each route, half a second of work.
    """

    def openapi(self) -> dict[str, Any]:
        """Return the document."""
        document = super().openapi()
        schemas = document["components"]["schemas"]
        schemas.setdefault(ProblemBody.__name__, ProblemBody.model_json_schema())
        return document


def errors(*statuses: int) -> Documented:
    """Return, for `responses=` of a route, what it means that it answers with these statuses."""
    return {
        status: {
            "description": f"{HTTPStatus(status).phrase}. {_MEANINGS[status]}",
            "content": _CONTENT,
        }
        for status in statuses
    }


USUAL: Final = errors(400, 401, 403, 421, 422, 503)
"""What every route may answer with that is for accounts."""
