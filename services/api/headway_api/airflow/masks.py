"""The parameter `update_mask`: which members of a body a PATCH is about."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any, TypeAlias

from fastapi import Query
from pydantic import BaseModel

from headway.domain.errors import RequestError

Mask: TypeAlias = Annotated[
    Sequence[str], Query(description="The members of the body to use; without any, all of them.")
]


def given_in(
    body: BaseModel, mask: Sequence[str], name: tuple[str, str], unused: Collection[str] = ()
) -> dict[str, Any]:
    """Return the members that the body has and the mask names, without the name of the thing.

    `name` is the member that names the thing, and its name in the path.  RequestError if the body
    has another one, or if the mask names a member that there is not.
    """
    member, value = name
    other = getattr(body, member)
    if other is not None and other != value:
        raise RequestError(f"{member} is {other[:60]!r} in the body and {value!r} in the path.")
    members = {field.alias or key: key for key, field in type(body).model_fields.items()}
    unknown = sorted(set(mask) - set(members))
    if unknown:
        raise RequestError(
            f"update_mask names {unknown[0][:60]!r}; the body may have {', '.join(members)}."
        )
    wanted = set(mask) or set(members)
    return {
        shown: getattr(body, key)
        for shown, key in members.items()
        if shown in wanted and key in body.model_fields_set and shown not in {member, *unused}
    }
