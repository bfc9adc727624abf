"""XComs as services read them: what a task is expanded over, and what people are shown."""

import sys

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.xcoms import items_of, length_of, readable

POINT: JsonValue = {
    "__headway__": "namedtuple",
    "class": "antigravity:Point",
    "fields": {"x": 1, "y": 2},
}


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ([1, [2]], [1, [2]]),
        ({"b": 1, "a": 2}, [("b", 1), ("a", 2)]),
        ({"__headway__": "tuple", "items": [1, 2]}, [1, 2]),
        ({"__headway__": "set", "items": [1]}, [1]),
        ({"__headway__": "frozenset", "items": []}, []),
        ({"__headway__": "dict", "items": [[1, "a"], [2, None]]}, [(1, "a"), (2, None)]),
        (POINT, [1, 2]),
    ],
)
def test_lists_and_dictionaries_of_any_kind_have_items(
    value: JsonValue, items: list[object]
) -> None:
    found = items_of(value)

    assert found is not None
    assert list(found) == items
    assert length_of(value) == len(items)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "text",
        3,
        {"__headway__": "datetime", "value": "2013-01-01T00:00:00"},
        {"__headway__": "unknown", "items": [1]},
        {"__headway__": "tuple", "items": 5},
        {"__headway__": "tuple"},
        {"__headway__": "dict", "items": [[1]]},
        {"__headway__": "dict", "items": ["ab"]},
        {"__headway__": "namedtuple", "fields": [1]},
        {"__headway__": [1], "items": [1]},
    ],
)
def test_nothing_else_has_items_however_it_is_made(value: JsonValue) -> None:
    assert items_of(value) is None
    assert length_of(value) is None


def test_bytes_are_cut_short_for_people() -> None:
    table: JsonValue = {"__headway__": "arrow.table", "rows": 9, "base64": "A" * 4000}

    assert readable([{"at": table}]) == [
        {
            "at": {
                "__headway__": "arrow.table",
                "rows": 9,
                "base64": f"{'A' * 80}… (4,000 characters)",
            }
        }
    ]
    assert readable({"base64": "A" * 4000}) == {"base64": "A" * 4000}
    short: JsonValue = {"__headway__": "bytes", "base64": "AA=="}
    assert readable(short) == short


def test_no_class_that_a_stored_value_names_is_imported() -> None:
    """Its import opens a browser."""
    items_of(POINT)
    readable(POINT)

    assert "antigravity" not in sys.modules
