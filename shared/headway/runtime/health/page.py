"""What the HTTP port of a service answers."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, TypeAlias


class Page(NamedTuple):
    """What is answered to a request."""

    status: HTTPStatus
    content_type: str
    body: bytes
    headers: Mapping[str, str] = {}


MorePages: TypeAlias = Callable[[str, Mapping[str, str]], Page | None]
"""What a service answers beside probes, by the path and the headers; None if nothing is there."""
