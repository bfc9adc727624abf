"""The pods of a release, as kubectl lists them in JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from headway.domain.errors import ClusterError, ConflictError, NotFoundError

SELECTOR: Final = "app.kubernetes.io/component in (scheduler,parser,worker,api)"
"""What pods and Deployments of the chart have in common, and others may have too."""

_OWN: Final = "headway/database"
_INSTANCE: Final = "app.kubernetes.io/instance"
_COMPONENT: Final = "app.kubernetes.io/component"
_PART_OF: Final = "app.kubernetes.io/part-of"
_HOSTNAME: Final = 63
"""Letters of a pod's name that its host name has."""


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of a service: `ready` tells whether all its containers are, and it is not leaving."""

    name: str
    release: str
    service: str
    group: str | None
    hostname: str
    phase: str
    ready: bool
    restarts: int
    node: str | None

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Pod":
        """Return the pod that the API server describes."""
        metadata, spec, status = found["metadata"], found["spec"], found.get("status", {})
        leaving = "deletionTimestamp" in metadata
        conditions = {
            condition["type"]: condition["status"] for condition in status.get("conditions", [])
        }
        return cls(
            name=metadata["name"],
            release=metadata["labels"][_INSTANCE],
            service=metadata["labels"][_COMPONENT],
            group=metadata["labels"].get("headway/group"),
            hostname=spec.get("hostname") or metadata["name"][:_HOSTNAME],
            phase="Terminating" if leaving else status.get("phase", "Unknown"),
            ready=conditions.get("Ready") == "True" and not leaving,
            restarts=sum(
                container["restartCount"] for container in status.get("containerStatuses", [])
            ),
            node=spec.get("nodeName"),
        )


@dataclass(frozen=True, slots=True)
class Deployment:
    """How many pods a Deployment of the release wants, and how many are ready."""

    name: str
    release: str
    wanted: int
    ready: int

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> "Deployment":
        """Return the Deployment that the API server describes."""
        metadata = found["metadata"]
        ready = found.get("status", {}).get("readyReplicas", 0)
        wanted = found["spec"].get("replicas", 1)
        return cls(metadata["name"], metadata["labels"][_INSTANCE], wanted, ready)


def pods(items: Iterable[Mapping[str, Any]]) -> list[Pod]:
    """Return the pods of services of the chart among what the API server has listed."""
    own = (
        manifest
        for manifest in items
        if manifest["kind"] == "Pod" and _OWN in manifest["metadata"]["labels"]
    )
    return [Pod.of(manifest) for manifest in own]


def deployments(items: Iterable[Mapping[str, Any]]) -> list[Deployment]:
    """Return the Deployments of the chart among what the API server has listed."""
    return [
        Deployment.of(manifest)
        for manifest in items
        if manifest["kind"] == "Deployment"
        and manifest["metadata"]["labels"].get(_PART_OF) == "headway"
    ]


def choose(releases: Iterable[str], wanted: str | None, where: str) -> str:
    """Return the release: the wanted one, or the only one; `where` says in which namespace.

    NotFoundError if there is none, ConflictError if several could be meant.
    """
    found = sorted(set(releases))
    if wanted is not None and wanted in found:
        return wanted
    if wanted is None and len(found) == 1:
        return found[0]
    if not found:
        raise NotFoundError(
            f"No release of Headway is in {where}. Name another by --namespace or --context; "
            "`kubectl get deployments --all-namespaces --selector "
            f"{_PART_OF}=headway` lists all."
        )
    there = f"there {'are' if len(found) > 1 else 'is'} {', '.join(found)}"
    if wanted is not None:
        raise NotFoundError(f"No release {wanted} of Headway is in {where}; {there}.")
    raise ConflictError(f"Several releases of Headway are in {where}: {there}. Name one: --release")


def scheduler(found: Sequence[Pod]) -> Pod:
    """Return a scheduler's pod that is ready; ClusterError if none is."""
    mine = [pod for pod in found if pod.service == "scheduler"]
    ready = [pod for pod in mine if pod.ready]
    if not ready:
        phases = ", ".join(f"{pod.name} ({pod.phase})" for pod in mine) or "there is none"
        raise ClusterError(
            f"No pod of a scheduler is ready: {phases}. Commands run in such a pod; "
            "`kubectl describe pod` says what it lacks."
        )
    return ready[0]


def worker(found: Sequence[Pod], name: str) -> Pod:
    """Return the worker's pod of that name.

    NotFoundError if there is none, ConflictError if it is of another service.
    """
    pod = next((candidate for candidate in found if candidate.name == name), None)
    if pod is None:
        workers = (
            ", ".join(candidate.name for candidate in found if candidate.service == "worker")
            or "none"
        )
        raise NotFoundError(f"The release has no pod {name}; its workers' pods: {workers}.")
    if pod.service != "worker":
        raise ConflictError(f"{name} is the pod of a {pod.service}; only workers drain.")
    return pod


def with_logs(found: Sequence[Pod], hostname: str | None) -> Pod:
    """Return the pod that has the log of an attempt of the worker with that host name.

    If that pod has gone it is any worker's, which reads the store that logs are copied to.
    ClusterError if no worker's pod is ready.
    """
    ready = [pod for pod in found if pod.service == "worker" and pod.ready]
    own = (pod for pod in found if pod.service == "worker" and pod.hostname == hostname)
    chosen = next(own, None) or next(iter(ready), None)
    if chosen is None:
        raise ClusterError("No pod of a worker is ready: logs are read in such a pod.")
    return chosen
