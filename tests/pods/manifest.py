"""A pod as podman takes it, made from a pod as Kubernetes takes it.

Podman has no volumes that go with a pod, no Secrets in files, no claims, no names of Services, and
asks no probe as the kubelet does. Here folders of this machine stand for the volumes, with the
owners and modes that the kubelet gives them; variables from Secrets have their values.
"""

import copy
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.chart.rendering import Object
from tests.pods.probes import KINDS

_EMPTY: Final = 0o2777
_SHARED: Final = 0o2775
_SECRET_FILE: Final = 0o644
KNOWN: Final = frozenset(
    {
        *("initContainers", "containers", "volumes", "restartPolicy", "securityContext"),
        *("terminationGracePeriodSeconds", "enableServiceLinks", "automountServiceAccountToken"),
        *("shareProcessNamespace", "serviceAccountName", "topologySpreadConstraints"),
    }
)
"""The fields of a pod that are heeded here, or that have no meaning without an API server."""

KNOWN_OF_CONTAINERS: Final = frozenset(
    {
        *("name", "image", "imagePullPolicy", "args", "env", "volumeMounts", "securityContext"),
        *("resources", "ports", *KINDS),
    }
)
KNOWN_OF_PROBES: Final = frozenset(
    {"exec", "httpGet", "periodSeconds", "timeoutSeconds", "failureThreshold"}
)
_UNUSED: Final = frozenset({*KINDS, "resources", "ports"})
"""The fields of a container that podman does not get."""

SECCOMP: Final = "seccomp.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Where on this machine is what manifests name."""

    folder: Path
    """Holds a folder for each pod."""

    secrets: Mapping[str, Mapping[str, str]] = field(repr=False)
    claims: Mapping[str, Path]
    hosts: Mapping[str, str]
    """The address of each name that pods must find."""


def pod(name: str, address: str, template: Object, place: Place) -> Object:
    """Return the Pod for `podman kube play`, and make the folders of its volumes."""
    spec = template["spec"]
    if unknown := sorted(unheeded(spec)):
        raise ValueError(f"Pods of tests know nothing of {', '.join(unknown)}: extend {__file__}.")
    security = spec.get("securityContext", {})
    if (group := security.get("fsGroup", 0)) != security.get("runAsGroup", 0):
        raise ValueError("Podman gives a process no fsGroup: it has to be the pod's runAsGroup.")
    volumes = [
        _volume(volume, place, place.folder / name, group) for volume in spec.get("volumes", [])
    ]
    aliases = [{"ip": at, "hostnames": [host]} for host, at in place.hosts.items()]
    own = {"metadata.name": name, "status.podIP": address}
    # Podman's own profile of system calls lets programs make user namespaces. Kubernetes'
    # RuntimeDefault does not: the profile in the place does not either.
    annotations = {"seccomp.security.alpha.kubernetes.io/pod": f"localhost/{SECCOMP}"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {
            "restartPolicy": "Never",  # podman would start init containers anew too
            "hostAliases": aliases,
            "securityContext": _user(spec),
            "initContainers": [
                _container(container, own, place) for container in spec.get("initContainers", [])
            ],
            "containers": [_container(container, own, place) for container in spec["containers"]],
            "volumes": volumes,
        },
    }


def unheeded(spec: Object) -> set[str]:
    """Return the fields of a pod, its containers and their probes that mean nothing here."""
    containers = [*spec.get("initContainers", []), *spec["containers"]]
    probes = [container[kind] for container in containers for kind in KINDS if kind in container]
    return {
        *(spec.keys() - KNOWN),
        *(key for container in containers for key in container.keys() - KNOWN_OF_CONTAINERS),
        *(key for probe in probes for key in probe.keys() - KNOWN_OF_PROBES),
    }


def _user(spec: Object) -> Object:
    given = spec.get("securityContext", {})
    return {key: given[key] for key in ("runAsUser", "runAsGroup") if key in given}


def _container(given: Object, own: Mapping[str, str], place: Place) -> Object:
    made = {key: copy.deepcopy(given[key]) for key in given.keys() - _UNUSED}
    made["env"] = [_variable(variable, own, place) for variable in given.get("env", [])]
    made["imagePullPolicy"] = "Never"
    return made


def _variable(given: Object, own: Mapping[str, str], place: Place) -> Object:
    if "valueFrom" not in given:
        return given
    source = given["valueFrom"]
    if "fieldRef" in source:
        return {"name": given["name"], "value": own[source["fieldRef"]["fieldPath"]]}
    wanted = source["secretKeyRef"]
    return {"name": given["name"], "value": place.secrets[wanted["name"]][wanted["key"]]}


def _volume(given: Object, place: Place, folder: Path, group: int) -> Object:
    name = given["name"]
    if "persistentVolumeClaim" in given:
        path = place.claims[given["persistentVolumeClaim"]["claimName"]]
        _folder(path, group, _SHARED)
    elif "secret" in given:
        path = folder / name
        _folder(path, group, 0o755)
        for file, content in _files(given["secret"], place):
            _file(path / file, content, group, given["secret"].get("defaultMode", _SECRET_FILE))
    elif "emptyDir" in given:
        path = folder / name
        _folder(path, group, _EMPTY)
    else:
        raise ValueError(f"Pods of tests have no such volume: {given}.")
    return {"name": name, "hostPath": {"path": str(path), "type": "Directory"}}


def _files(given: Object, place: Place) -> Iterator[tuple[str, str]]:
    secret = place.secrets[given["secretName"]]
    items = given.get("items") or [{"key": key, "path": key} for key in secret]
    return ((item["path"], secret[item["key"]]) for item in items)


def _folder(path: Path, group: int, mode: int) -> None:
    """Make a folder as the kubelet makes a volume for pods with this fsGroup."""
    path.mkdir(parents=True, exist_ok=True)
    os.chown(path, -1, group)
    path.chmod(mode)


def _file(path: Path, content: str, group: int, mode: int) -> None:
    path.write_text(content)
    os.chown(path, 0, group)
    path.chmod(mode | (0o440 if group else 0))


def described(template: Object) -> dict[str, Any]:
    """Return the containers of a pod that run as long as it does, by name."""
    return {container["name"]: container for container in template["spec"]["containers"]}
