"""How the errors of routes are documented: every route says the statuses that it may answer with.

A router has `responses=USUAL`; a route adds what else it answers: `responses=errors(404, 409)`.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

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


def errors(*statuses: int) -> Documented:
    """Return, for `responses=` of a route, what it means that it answers with these statuses."""
    return {
        status: {
            "model": ProblemBody,
            "description": f"{HTTPStatus(status).phrase}. {_MEANINGS[status]}",
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}},
        }
        for status in statuses
    }


USUAL: Final = errors(400, 401, 403, 421, 422, 503)
"""What every route may answer with that is for accounts."""
