"""What is told of two parses that differ: where, and how, without what was read as a secret."""

import msgpack
import pytest

from headway_parser.publish.stability import first_difference

SECRET = 'canary\'s "8f1e"'


def mask(text: str) -> str:
    return text.replace(SECRET, "***").replace("4711", "***")


def packed(value: object) -> bytes:
    return bytes(msgpack.packb({"dag": {"x": value}}))


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("a", "b", "x was 'a', then 'b'"),
        (SECRET, f"{SECRET}2", "x was '***', then '***2'"),
        ("a" * 110 + SECRET, "b", f"x was '{'a' * 110}***', then 'b'"),
        ([SECRET], [1, {SECRET: [SECRET]}], "x was ['***'], then [1, {'***': ['***']}]"),
        ({SECRET: 1}, {SECRET: 2}, "x.*** was 1, then 2"),
        (4711, None, "x was ***, then None"),
    ],
)
def test_a_difference_is_told_without_secrets(one: object, other: object, told: str) -> None:
    assert first_difference(packed(one), packed(other), mask) == told


def test_a_text_is_masked_before_it_is_cut() -> None:
    """Half a secret is found by nobody."""
    told = first_difference(packed("a" * 118 + SECRET), packed("b"), mask)

    assert told == f"x was '{'a' * 118}*…, then 'b'"
