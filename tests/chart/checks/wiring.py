"""Whether what objects name is there: volumes, accounts, ports, pods of a selector, probes."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.chart.rendering import Object, containers, of_kind, pods, title

PATHS: Final = {
    "startupProbe": "/healthz",
    "livenessProbe": "/healthz",
    "readinessProbe": "/readyz",
}
"""What a probe asks a service for."""


def loose_ends(objects: Sequence[Object]) -> list[str]:
    """Return what names something that is not there, or is there for nothing."""
    names = {title(each) for each in objects}
    found = [
        f"{where}: {problem}"
        for where, pod in pods(objects)
        for problem in (*_of_volumes(pod, names), *_of_account(pod, names))
    ]
    found += [
        f"{title(each)}: {problem}"
        for each in of_kind(objects, "Deployment", "StatefulSet")
        for container in each["spec"]["template"]["spec"]["containers"]
        for problem in _of_probes(container)
    ]
    return [*found, *_of_selectors(objects), *_of_policies(objects)]


def _of_volumes(pod: Object, names: set[str]) -> Iterator[str]:
    volumes = [volume["name"] for volume in pod["spec"].get("volumes", [])]
    used = set()
    for container in containers(pod):
        mounts = container.get("volumeMounts", [])
        used |= {mount["name"] for mount in mounts}
        if len({mount["mountPath"] for mount in mounts}) < len(mounts):
            yield f"{container['name']}: two volumes are mounted at one path"
    yield from (f"{name} is mounted and is no volume" for name in sorted(used - set(volumes)))
    yield from (f"volume {name} is mounted nowhere" for name in sorted(set(volumes) - used))
    if len(set(volumes)) < len(volumes):
        yield "two volumes have one name"
    for volume in pod["spec"].get("volumes", []):
        made = volume.get("configMap", {}).get("name")
        if made is not None and f"ConfigMap {made}" not in names:
            yield f"there is no ConfigMap {made}"


def _of_account(pod: Object, names: set[str]) -> Iterator[str]:
    account = pod["spec"].get("serviceAccountName")
    if account in (None, "default"):
        yield "it has no account of its own"
    elif account.startswith("release") and f"ServiceAccount {account}" not in names:
        yield f"there is no ServiceAccount {account}"


def _of_probes(container: Object) -> Iterator[str]:
    name, probes = container["name"], {each for each in container if each.endswith("Probe")}
    wanted = set(PATHS) if name != "forker" else {"startupProbe", "livenessProbe"}
    yield from (f"{name}: it has no {probe}" for probe in sorted(wanted - probes))
    ports = {port["name"] for port in container.get("ports", [])}
    for probe in sorted(probes):
        asked = container[probe].get("httpGet") or container[probe].get("tcpSocket")
        if asked is not None and asked["port"] not in ports:
            yield f"{name}: {probe} asks a port {asked['port']} that it has not"
        if "httpGet" in container[probe] and asked["path"] != PATHS[probe]:
            yield f"{name}: {probe} asks for {asked['path']}"


def _of_selectors(objects: Sequence[Object]) -> Iterator[str]:
    labels = [pod["metadata"]["labels"] for _, pod in pods(objects)]
    for each in objects:
        spec = each.get("spec", {})
        chosen = spec.get("podSelector") or spec.get("selector") or {}
        chosen = chosen.get("matchLabels", chosen if each["kind"] == "Service" else {})
        if chosen and not any(chosen.items() <= its.items() for its in labels):
            yield f"{title(each)}: its selector finds no pod"
    for each in of_kind(objects, "Deployment", "StatefulSet"):
        wanted = each["spec"]["selector"]["matchLabels"].items()
        if sum(wanted <= its.items() for its in labels) != 1:
            yield f"{title(each)}: its selector finds pods of others"


def _of_policies(objects: Sequence[Object]) -> Iterator[str]:
    """Yield pods that no NetworkPolicy but the one which denies all is for."""
    policies = [each["spec"] for each in of_kind(objects, "NetworkPolicy")]
    if not policies:
        return
    for where, pod in pods(objects):
        labels = pod["metadata"]["labels"].items()
        mine = [
            policy for policy in policies if policy["podSelector"]["matchLabels"].items() <= labels
        ]
        if len(mine) != 2 or sum(not _allows(policy) for policy in mine) != 1:
            yield f"{where}: it has not the two policies that each pod has"


def _allows(policy: dict[str, Any]) -> bool:
    return bool(policy.get("ingress") or policy.get("egress"))
