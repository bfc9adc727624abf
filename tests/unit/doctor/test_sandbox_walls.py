"""What `headway doctor` says of a sandbox that lacks some of its layers."""

import pytest

from headway.doctor.finding import Finding
from headway.doctor.sandbox import walls
from headway.runtime.sandbox import Isolation, Layer
from headway.runtime.sandbox.layers import EVERY


def rows(*missing: Layer) -> dict[str, Finding]:
    """The rows on a sandbox that has every layer but these."""
    why = dict.fromkeys(missing, "Operation not permitted")
    found = walls(Isolation("me", frozenset(EVERY) - set(missing), why))
    return {row.check: row for row in found}


def test_a_sandbox_that_has_every_layer_is_one_row() -> None:
    found = rows()

    assert list(found) == ["sandbox"]
    assert found["sandbox"].ok


@pytest.mark.parametrize("layer", [Layer.USER, Layer.NAMESPACE, Layer.PROC, Layer.LANDLOCK])
def test_what_stands_in_for_a_layer_is_told_with_what_the_layer_needs(layer: Layer) -> None:
    found = rows(layer)

    assert all(row.ok for row in found.values())
    assert "(Operation not permitted). Instead, " in found[f"sandbox: {layer}"].found
    assert found[f"sandbox: {layer}"].wanted


@pytest.mark.parametrize("layer", [Layer.LIMITS, Layer.PRIVILEGES, Layer.SECCOMP])
def test_nothing_stands_in_for_a_layer_that_there_always_is(layer: Layer) -> None:
    found = rows(layer)

    assert not found["sandbox"].ok
    assert not found[f"sandbox: {layer}"].ok
    assert "Nothing does its work" in found[f"sandbox: {layer}"].found
    assert "headway forker" in found[f"sandbox: {layer}"].remedy


def test_files_are_protected_by_another_user_or_by_landlock() -> None:
    found = rows(Layer.USER, Layer.LANDLOCK)

    assert [name for name, row in found.items() if not row.ok] == [
        "sandbox",
        "sandbox: user",
        "sandbox: landlock",
    ]
