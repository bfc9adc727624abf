"""Fields of params: what was typed has the type of the default, and defaults are not sent."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.domain.arguments import JsonValue
from headway.domain.errors import RequestError
from headway_api.pages.dags.param_fields import PREFIX, param_fields, typed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=5,
)
PARAMS = st.dictionaries(st.text(min_size=1, max_size=5), VALUES, max_size=4)


def same_type(one: JsonValue, other: JsonValue) -> bool:
    return type(one) is type(other)


@given(PARAMS)
def test_what_is_left_as_it_is_shown_is_not_sent(params: dict[str, JsonValue]) -> None:
    shown = {field.field: field.shown for field in param_fields(params, {})}
    assert typed(params, shown) == {}
    assert typed(params, {}) == {}


@given(PARAMS, st.data())
def test_another_value_of_the_same_type_is_sent(
    params: dict[str, JsonValue], data: st.DataObject
) -> None:
    for name, default in params.items():
        wanted = data.draw(VALUES.filter(partial(same_type, default)))
        text = wanted if isinstance(wanted, str) else json.dumps(wanted)
        sent = typed(params, {PREFIX + name: text})
        assert sent == ({} if wanted == default else {name: wanted})


@pytest.mark.parametrize(
    ("default", "text"), [(1, "x"), (1, "true"), (1.5, '"a"'), (True, "1"), ([], "["), (None, "")]
)
def test_another_type_is_refused_by_name(default: JsonValue, text: str) -> None:
    with pytest.raises(RequestError, match=r"^limit is "):
        typed({"limit": default}, {PREFIX + "limit": text})


def test_a_number_may_have_a_fraction() -> None:
    assert typed({"limit": 1}, {PREFIX + "limit": "1.5"}) == {"limit": 1.5}
