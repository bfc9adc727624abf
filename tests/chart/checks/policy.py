"""What every pod of the chart must keep to: PodSecurity `restricted`, and more (S19)."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tests.chart.checks.untrusted import exposures
from tests.chart.rendering import Object, containers, executors, of_kind, pods, title

NEVER: Final = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace")
ALWAYS_FALSE: Final = ("enableServiceLinks", "automountServiceAccountToken")
OF_THE_POD: Final = ("runAsUser", "runAsNonRoot", "seccompProfile")
"""What no container says otherwise than its pod."""

VOLUMES: Final = {"configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim"} | {
    *("projected", "secret")
}
SECRET: Final = re.compile(r"PASSWORD|TOKEN|SECRETS_KEYS$|CONN_|VAR_|CREDENTIAL", re.IGNORECASE)
"""Names of variables that hold secrets."""

PASSWORD_IN_URL: Final = re.compile(r"://[^/@\s]*:[^/@\s]*@")


def violations(objects: Sequence[Object]) -> list[str]:
    """Return what breaks the policy, each with where it is."""
    found = [
        f"{where}: {problem}"
        for where, pod in pods(objects)
        for problem in (*_of_pod(pod), *exposures(pod), *_of_volumes(pod), *_of_containers(pod))
    ]
    found += [
        f"{where}: {exposure}" for where, pod in executors(objects) for exposure in _of_pod(pod)
    ]
    return [*found, *_of_objects(objects), *_of_networks(objects)]


def _of_pod(pod: Object) -> Iterator[str]:
    """Yield what breaks the profile `restricted`, or what a pod of ours does besides."""
    spec = pod["spec"]
    yield from (f"{name} is set" for name in NEVER if spec.get(name))
    yield from (f"{name} is not false" for name in ALWAYS_FALSE if spec.get(name) is not False)
    security = spec.get("securityContext", {})
    if security.get("runAsNonRoot") is not True or not security.get("runAsUser"):
        yield "it may run as root"
    if security.get("seccompProfile", {}).get("type") != "RuntimeDefault":
        yield "it has no seccomp profile"
    for container in containers(pod):
        for problem in _of_privileges(container.get("securityContext", {})):
            yield f"{container['name']}: {problem}"


def _of_privileges(security: dict[str, Any]) -> Iterator[str]:
    if security.get("allowPrivilegeEscalation") is not False:
        yield "it may escalate its privileges"
    if security.get("privileged") or security.get("procMount", "Default") != "Default":
        yield "it is privileged"
    if security.get("capabilities") != {"drop": ["ALL"]}:
        yield "it keeps capabilities"
    yield from (f"it overrides {name} of its pod" for name in OF_THE_POD if name in security)


def _of_volumes(pod: Object) -> Iterator[str]:
    for volume in pod["spec"].get("volumes", []):
        [kind] = volume.keys() - {"name"}
        if kind not in VOLUMES:
            yield f"volume {volume['name']} is a {kind}"
        if kind == "emptyDir" and "sizeLimit" not in volume[kind]:
            yield f"volume {volume['name']} has no limit of size"


def _of_containers(pod: Object) -> Iterator[str]:
    """Yield what a container of the chart's own lacks, or says in clear."""
    for container in containers(pod):
        problems = (*_of_limits(container), *_in_clear(container))
        yield from (f"{container['name']}: {problem}" for problem in problems)


def _of_limits(container: Object) -> Iterator[str]:
    if container["securityContext"].get("readOnlyRootFilesystem") is not True:
        yield "its root file system can be written to"
    resources = container.get("resources", {})
    if not {"cpu", "memory"} <= resources.get("requests", {}).keys():
        yield "it requests no CPU or memory"
    if "memory" not in resources.get("limits", {}):
        yield "it has no limit of memory"
    if any("hostPort" in port for port in container.get("ports", [])):
        yield "it has a port of the host"


def _in_clear(container: Object) -> Iterator[str]:
    """Yield the secrets that stand in the manifest."""
    for variable in container.get("env", []):
        name, value = variable["name"], variable.get("value", "")
        if PASSWORD_IN_URL.search(value):
            yield f"{name} has a password in its address"
        elif SECRET.search(name) and value and not _is_plain(name, value):
            yield f"{name} is in clear"


def _is_plain(name: str, value: str) -> bool:
    """Whether a value is a path, or a connection without a login."""
    return value.startswith("/") or (name.startswith("HEADWAY_CONN_") and "token" not in value)


def _of_networks(objects: Sequence[Object]) -> Iterator[str]:
    for each in of_kind(objects, "NetworkPolicy"):
        if sorted(each["spec"].get("policyTypes", [])) != ["Egress", "Ingress"]:
            yield f"{title(each)}: it leaves one direction open"
        for direction, peers in (("ingress", "from"), ("egress", "to")):
            for rule in each["spec"].get(direction) or []:
                if not rule.get(peers) and not rule.get("ports"):
                    yield f"{title(each)}: {direction} is open"


def _of_objects(objects: Sequence[Object]) -> Iterator[str]:
    for each in of_kind(objects, "ServiceAccount"):
        if each.get("automountServiceAccountToken") is not False:
            yield f"{title(each)}: its token is mounted"
    for each in objects:
        if any(name.startswith("helm.sh/hook") for name in each["metadata"].get("annotations", {})):
            yield f"{title(each)}: it is a hook"
