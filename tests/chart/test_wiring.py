"""The check of what objects name finds what is amiss, and so does that of the API."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from tests.chart.checks.validity import invalid
from tests.chart.checks.wiring import loose_ends
from tests.chart.rendering import NAMESPACE, rendered

Change = Callable[[dict[str, Any]], object]


def container(deployment: dict[str, Any], place: int = 0) -> dict[str, Any]:
    return deployment["spec"]["template"]["spec"]["containers"][place]  # type: ignore[no-any-return]


def volumes(deployment: dict[str, Any]) -> list[dict[str, Any]]:
    return deployment["spec"]["template"]["spec"]["volumes"]  # type: ignore[no-any-return]


CHANGES: dict[str, tuple[Change, str]] = {
    "a volume": (lambda it: volumes(it).pop(), "is mounted and is no volume"),
    "mounts": (lambda it: container(it)["volumeMounts"].clear(), "is mounted nowhere"),
    "a probe": (lambda it: container(it).pop("livenessProbe"), "worker: it has no livenessProbe"),
    "a forker's probe": (
        lambda it: container(it, 1).pop("startupProbe"),
        "forker: it has no startupProbe",
    ),
    "the port": (lambda it: container(it).pop("ports"), "asks a port http that it has not"),
    "the account": (
        lambda it: it["spec"]["template"]["spec"].update(serviceAccountName="release-x"),
        "there is no ServiceAccount release-x",
    ),
    "a label": (
        lambda it: it["spec"]["template"]["metadata"]["labels"].pop("headway/group"),
        "its selector finds no pod",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_taken_away_is_missed(what: str) -> None:
    change, message = CHANGES[what]
    objects: list[Any] = deepcopy(list(rendered("least")))
    [deployment] = [
        manifest
        for manifest in objects
        if manifest["metadata"]["name"] == "release-headway-worker-default"
        and manifest["kind"] == "Deployment"
    ]

    change(deployment)

    assert any(message in each for each in loose_ends(objects)), loose_ends(objects)


def test_a_pod_without_a_policy_of_its_own_is_found() -> None:
    objects = [
        manifest
        for manifest in rendered("least")
        if manifest["metadata"]["name"] != "release-headway-parser"
        or manifest["kind"] != "NetworkPolicy"
    ]

    assert loose_ends(objects) == [
        "Deployment release-headway-parser: it has not the two policies that each pod has"
    ]


@pytest.mark.parametrize(
    "kind", ["Deployment", "ScaledObject", "TriggerAuthentication", "PodMonitor"]
)
def test_a_field_that_nobody_knows_is_found_deep_in_an_object(kind: str) -> None:
    [first, *_] = [
        deepcopy(manifest) for manifest in rendered("everything") if manifest["kind"] == kind
    ]
    assert invalid([first]) == []

    deepest = next(iter(first["spec"].values()))
    (deepest[0] if isinstance(deepest, list) else first["spec"])["surprise"] = 1

    assert any("surprise" in each for each in invalid([first]))


def test_an_account_of_another_namespace_has_a_role_that_no_other_release_has() -> None:
    """Two releases of one name may have their executors in one namespace."""
    found = [
        manifest
        for manifest in rendered("everything")
        if manifest["kind"] in ("Role", "RoleBinding")
    ]

    assert {manifest["metadata"]["namespace"] for manifest in found} == {"executors"}
    names = {manifest["metadata"]["name"] for manifest in found}
    assert names == {f"{NAMESPACE}-release-flow-worker-kubernetes"}
    assert {manifest["roleRef"]["name"] for manifest in found if "roleRef" in manifest} == names
