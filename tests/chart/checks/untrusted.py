"""What the container of a fork server must not have: user code runs in it."""

import re
from collections.abc import Iterator
from typing import Final

from tests.chart.rendering import Object, containers

FORKER: Final = "forker"
DATABASE: Final = re.compile(r"PG|HEADWAY_")
READ_ONLY: Final = ("code", "bundles", "dags")
"""Volumes that user code reads, and its supervisor, or a node, writes."""


def exposures(pod: Object) -> Iterator[str]:
    """Yield what is where it must not be: secrets in a fork server, a token anywhere else."""
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
    for container in containers(pod):
        mounts = container.get("volumeMounts", [])
        mounted = [volumes[mount["name"]] for mount in mounts if mount["name"] in volumes]
        if container["name"] == FORKER:
            yield from (f"forker: {exposure}" for exposure in _of_forker(container, mounted))
        elif any("serviceAccountToken" in str(volume) for volume in mounted):
            yield f"{container['name']}: it has a service account token"


def _of_forker(container: Object, mounted: list[Object]) -> Iterator[str]:
    for variable in container.get("env", []):
        if "secretKeyRef" in str(variable) or DATABASE.match(variable["name"]):
            yield f"it has {variable['name']}"
    for volume in mounted:
        if "'secret'" in str(volume):
            yield f"it has the secret {volume['name']}"
    for mount in container.get("volumeMounts", []):
        if mount["name"] in READ_ONLY and not mount.get("readOnly"):
            yield f"it may write to {mount['name']}"
