"""What is seen of a function without its signature is what that says."""

from collections.abc import Callable, Mapping
from functools import wraps
from itertools import product
from typing import Any

import pytest

from headway.domain.errors import DagError
from headway.sdk.authoring.python_operator import check_by_signature
from headway.sdk.running.context import ASKED_NAMES
from headway.sdk.values.signatures import fits


def nothing() -> None: ...
def one(x: int) -> None: ...
def with_default(x: int, y: int = 1) -> None: ...
def by_name(x: int, *, y: int, z: int = 1) -> None: ...
def asks(x: int, ds: str) -> None: ...
def any_more(x: int, *more: int) -> None: ...
def any_named(x: int, **more: int) -> None: ...
def by_place(x: int, /) -> None: ...


@wraps(one)
def wrapping(*args: Any) -> None: ...


FUNCTIONS = (nothing, one, with_default, by_name, asks, any_more, any_named, by_place, wrapping)
POSITIONAL: tuple[tuple[int, ...], ...] = ((), (1,), (1, 2), (1, 2, 3))
NAMED: tuple[dict[str, int], ...] = ({}, {"x": 1}, {"y": 1}, {"x": 1, "y": 1}, {"ds": 1}, {"q": 1})


@pytest.mark.parametrize("function", FUNCTIONS)
def test_only_a_call_that_fits_is_said_to(function: Callable[..., object]) -> None:
    for args, kwargs in product(POSITIONAL, NAMED):
        if fits(function, args, kwargs, ASKED_NAMES):
            check_by_signature(function, args, kwargs, "here")


@pytest.mark.parametrize("function", [nothing, one, with_default, by_name, asks])
def test_of_a_plain_function_no_call_that_fits_is_missed(function: Callable[..., object]) -> None:
    for args, kwargs in product(POSITIONAL, NAMED):
        assert fits(function, args, kwargs, ASKED_NAMES) == _passes(function, args, kwargs)


def _passes(
    function: Callable[..., object], args: tuple[int, ...], kwargs: Mapping[str, int]
) -> bool:
    try:
        check_by_signature(function, args, kwargs, "here")
    except DagError:
        return False
    return True
