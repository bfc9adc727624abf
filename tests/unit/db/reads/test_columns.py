"""Rows become records whatever the order of their columns."""

from dataclasses import dataclass

import pytest

from headway.db.reads.pages.columns import values_of
from headway.domain.states import RunState


@dataclass(frozen=True)
class Named:
    name: str
    state: RunState
    number: int


def test_values_stand_in_the_order_of_the_fields() -> None:
    values = values_of(Named, ["number", "other", "state", "name"], state=RunState)

    assert Named(*values((7, None, "running", "a"))) == Named("a", RunState.RUNNING, 7)


def test_the_first_fields_may_be_left_out() -> None:
    assert values_of(Named, ["number", "state"], skip=1, state=RunState)((7, "failed")) == [
        RunState.FAILED,
        7,
    ]


def test_a_column_that_is_missing_is_an_error() -> None:
    with pytest.raises(KeyError, match="state"):
        values_of(Named, ["name", "number"])
