"""Text in a template field that is no template, and names no template file."""

from typing import TypeVar, cast

from headway.sdk.authoring.xcom_arg import transform

T = TypeVar("T")


class LiteralText(str):
    """Text that a task gets as it is."""

    __slots__ = ()


def literal(value: T) -> T:
    """Return a value for a template field whose text, also in lists and maps, is no template.

    `bash_command=literal("docker ps --format '{{.Names}}'")` runs just that.
    """
    return cast("T", transform(value, _as_literal))


def _as_literal(item: object) -> object:
    return LiteralText(item) if isinstance(item, str) else item
