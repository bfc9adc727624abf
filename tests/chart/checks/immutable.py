"""What Kubernetes lets nobody change of an object: an upgrade that tries fails."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.chart.rendering import Object, title

FIXED: Final[Mapping[str, Sequence[str]]] = {
    "Deployment": ["spec.selector"],
    "StatefulSet": ["spec.selector", "spec.serviceName", "spec.volumeClaimTemplates"],
    "Job": ["spec.template", "spec.selector", "spec.completions", "spec.completionMode"],
    "Service": ["spec.clusterIP"],
    "RoleBinding": ["roleRef"],
    "PersistentVolumeClaim": ["spec.accessModes", "spec.storageClassName", "spec.volumeName"],
}
"""The fields by kind; of other kinds none, unless they say `immutable`."""

WHEN_IMMUTABLE: Final = ("data", "stringData", "binaryData", "immutable")


def changes(before: Sequence[Object], after: Sequence[Object]) -> list[str]:
    """Return the fields of objects that are in both, and must not differ, but do."""
    old = {_identity(each): each for each in before}
    return [
        f"{title(each)}: {path} may not change"
        for each in after
        if (same := old.get(_identity(each))) is not None
        for path in _fixed(same)
        if _at(same, path) != _at(each, path)
    ]


def _identity(found: Object) -> tuple[str, ...]:
    metadata = found["metadata"]
    group = found["apiVersion"].rpartition("/")[0]
    return group, found["kind"], metadata.get("namespace", ""), metadata["name"]


def _fixed(found: Object) -> Sequence[str]:
    return WHEN_IMMUTABLE if found.get("immutable") else FIXED.get(found["kind"], [])


def _at(found: Object, path: str) -> Any:
    value: Any = found
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
