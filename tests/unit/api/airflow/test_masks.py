"""Which members of a body a PATCH is about."""

import pytest
from pydantic import BaseModel, Field

from headway.domain.errors import RequestError
from headway_api.airflow.masks import given_in


class Thing(BaseModel):
    name: str | None = None
    colour: str | None = None
    schema_: str | None = Field(None, alias="schema")
    team: None = None


def given(mask: list[str], **members: str | None) -> dict[str, object]:
    return given_in(Thing.model_validate(members), mask, ("name", "a"), ("team",))


def test_without_a_mask_what_the_body_has_is_given() -> None:
    assert given([], name="a", colour=None, schema="s") == {"colour": None, "schema": "s"}


def test_a_mask_gives_of_the_body_what_it_names() -> None:
    assert given(["schema", "name"], colour="red", schema="s") == {"schema": "s"}
    assert given(["colour"], schema="s") == {}


def test_what_is_of_no_use_is_never_given() -> None:
    assert given([], team=None, colour="red") == {"colour": "red"}


@pytest.mark.parametrize(
    ("mask", "name"), [(["size"], "a"), (["schema_"], "a"), ([], "b"), ([], "")]
)
def test_another_name_or_an_unknown_member_is_refused(mask: list[str], name: str) -> None:
    with pytest.raises(RequestError):
        given(mask, name=name)
