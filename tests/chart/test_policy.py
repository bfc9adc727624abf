"""The policy finds what breaks it."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from tests.chart.checks.policy import violations
from tests.chart.rendering import SETS, render, rendered

Break = Callable[[dict[str, Any]], object]


def _main(pod: dict[str, Any]) -> dict[str, Any]:
    return pod["spec"]["containers"][0]  # type: ignore[no-any-return]


def _forker(pod: dict[str, Any]) -> dict[str, Any]:
    return pod["spec"]["containers"][1]  # type: ignore[no-any-return]


BREAKS: dict[str, tuple[Break, str]] = {
    "network of the host": (lambda pod: pod["spec"].update(hostNetwork=True), "hostNetwork is set"),
    "processes shared": (
        lambda pod: pod["spec"].update(shareProcessNamespace=True),
        "shareProcessNamespace is set",
    ),
    "service links": (lambda pod: pod["spec"].pop("enableServiceLinks"), "enableServiceLinks"),
    "token": (
        lambda pod: pod["spec"].update(automountServiceAccountToken=True),
        "automountServiceAccountToken",
    ),
    "root": (lambda pod: pod["spec"]["securityContext"].update(runAsUser=0), "run as root"),
    "no seccomp": (lambda pod: pod["spec"]["securityContext"].pop("seccompProfile"), "seccomp"),
    "escalation": (
        lambda pod: _main(pod)["securityContext"].pop("allowPrivilegeEscalation"),
        "scheduler: it may escalate",
    ),
    "escalation while waiting": (
        lambda pod: pod["spec"]["initContainers"][0]["securityContext"].clear(),
        "await-migration: it may escalate",
    ),
    "capabilities": (
        lambda pod: _main(pod)["securityContext"].update(capabilities={"drop": ["NET_RAW"]}),
        "keeps capabilities",
    ),
    "writable root": (
        lambda pod: _main(pod)["securityContext"].pop("readOnlyRootFilesystem"),
        "root file system",
    ),
    "no memory limit": (lambda pod: _main(pod)["resources"].pop("limits"), "no limit of memory"),
    "no request": (lambda pod: _main(pod)["resources"].pop("requests"), "requests no CPU"),
    "folder of the host": (
        lambda pod: pod["spec"]["volumes"].append({"name": "x", "hostPath": {"path": "/"}}),
        "is a hostPath",
    ),
    "boundless folder": (
        lambda pod: pod["spec"]["volumes"].append({"name": "x", "emptyDir": {}}),
        "no limit of size",
    ),
    "password in clear": (
        lambda pod: _main(pod)["env"].append({"name": "PGPASSWORD", "value": "x"}),
        "PGPASSWORD is in clear",
    ),
    "password in an address": (
        lambda pod: _main(pod)["env"].append({"name": "URL", "value": "postgresql://a:b@c/d"}),
        "URL has a password",
    ),
}

FORKER_BREAKS: dict[str, tuple[Break, str]] = {
    "database": (
        lambda pod: _forker(pod)["env"].append({"name": "HEADWAY_DATABASE_URL", "value": "x"}),
        "forker: it has HEADWAY_DATABASE_URL",
    ),
    "secret": (
        lambda pod: _forker(pod)["env"].append({"name": "X", "valueFrom": {"secretKeyRef": {}}}),
        "forker: it has X",
    ),
    "keys": (
        lambda pod: _forker(pod)["volumeMounts"].append({"name": "keys", "mountPath": "/keys"}),
        "forker: it has the secret keys",
    ),
    "code": (
        lambda pod: [mount.pop("readOnly", None) for mount in _forker(pod)["volumeMounts"]],
        "forker: it may write to code",
    ),
}


def broken(objects: tuple[Any, ...], name: str, change: Break) -> list[str]:
    mine = deepcopy(list(objects))
    [deployment] = [
        manifest
        for manifest in mine
        if (manifest["kind"], manifest["metadata"]["name"]) == ("Deployment", name)
    ]
    change(deployment["spec"]["template"])
    return violations(mine)


@pytest.mark.parametrize("what", BREAKS)
def test_a_pod_that_breaks_the_policy_is_found(what: str) -> None:
    change, message = BREAKS[what]

    found = broken(rendered("least"), "release-headway-scheduler", change)

    assert any(message in each for each in found), found


@pytest.mark.parametrize("what", FORKER_BREAKS)
def test_a_fork_server_with_what_user_code_must_not_have_is_found(what: str) -> None:
    change, message = FORKER_BREAKS[what]

    found = broken(rendered("everything"), "release-flow-worker-default", change)

    assert any(message in each for each in found), found


def test_a_token_is_for_the_fork_server_of_drivers_alone() -> None:
    name, token = "release-headway-worker-drivers", {"name": "token", "mountPath": "/token"}

    found = broken(
        rendered("spark-on-kubernetes"), name, lambda pod: _main(pod)["volumeMounts"].append(token)
    )

    assert found == [f"Deployment {name}: worker: it has a service account token"]


def test_executors_that_spark_makes_fit_the_profile_too() -> None:
    objects = deepcopy(list(rendered("spark-on-kubernetes")))
    maps = [manifest for manifest in objects if manifest["kind"] == "ConfigMap"]
    assert maps
    for each in maps:
        each["data"]["executor.yaml"] = each["data"]["executor.yaml"].replace("ALL", "CHOWN")

    assert len(violations(objects)) == len(maps)


def test_hooks_and_tokens_of_accounts_are_found() -> None:
    objects: list[Any] = deepcopy(list(rendered("least")))
    for each in objects:
        if each["kind"] == "ServiceAccount":
            each["automountServiceAccountToken"] = True
        if each["kind"] == "Job":
            each["metadata"]["annotations"] = {"helm.sh/hook": "pre-upgrade"}

    assert len(violations(objects)) == 5


def test_a_policy_that_leaves_a_network_open_is_found() -> None:
    objects: list[Any] = deepcopy(
        [manifest for manifest in rendered("least") if manifest["kind"] == "NetworkPolicy"]
    )
    objects[0]["spec"]["policyTypes"] = ["Ingress"]
    objects[-1]["spec"]["egress"].append({"to": []})

    assert violations(objects) == [
        f"NetworkPolicy {objects[0]['metadata']['name']}: it leaves one direction open",
        f"NetworkPolicy {objects[-1]['metadata']['name']}: egress is open",
    ]


def test_who_is_named_may_log_in_to_the_postgres_of_the_chart(tmp_path: Path) -> None:
    keda = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "keda"}}}
    values = tmp_path / "values.yaml"
    values.write_text(
        f"postgres: {{from: [{json.dumps(keda)}]}}\n"
        "workers: [{name: default, autoscaling: {kind: keda}}]\n"
    )

    objects = render(SETS["trial"], values)

    [policy] = [
        manifest["spec"]
        for manifest in objects
        if (manifest["kind"], manifest["metadata"]["name"])
        == ("NetworkPolicy", "release-headway-postgres")
    ]
    assert policy["ingress"][1:] == [{"from": [keda], "ports": [{"port": 5432}]}]


@pytest.mark.parametrize("notify", [True, False])
def test_behind_pgbouncer_services_reach_postgres_only_to_listen(
    tmp_path: Path, notify: bool
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(f"database: {{port: 5433, notify: {json.dumps(notify)}}}")

    objects = render(SETS["pgbouncer"], values)

    policies = {
        manifest["metadata"]["name"]: manifest
        for manifest in objects
        if manifest["kind"] == "NetworkPolicy"
    }
    reach = {
        name.removeprefix("release-headway-")
        for name, policy in policies.items()
        if {"port": 5433}
        in [port for rule in policy["spec"].get("egress", []) for port in rule["ports"]]
    }
    services = {"scheduler", "parser", "worker-default"}
    assert reach == {"migrate", "pgbouncer", *(services if notify else ())}
