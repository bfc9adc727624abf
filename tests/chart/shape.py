"""What the containers of the chart are given, in a form that can be read and compared."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from tests.chart.rendering import Object, containers, of_kind, pods, title

FOLDER: Final = Path(__file__).with_name("golden")
"""A file for each value set whose shape is kept."""

KEPT: Final = ("least", "everything", "trial")


def shape(objects: Sequence[Object]) -> str:
    """Return what each container is given and asked, and what each NetworkPolicy allows."""
    lines = [line for where, pod in pods(objects) for line in _of_pod(where, pod)]
    lines += [line for each in of_kind(objects, "NetworkPolicy") for line in _of_policy(each)]
    return "\n".join(lines) + "\n"


def _of_pod(where: str, pod: Object) -> Iterator[str]:
    yield where.partition("-migrate-")[0]
    volumes = {volume["name"]: _kind(volume) for volume in pod["spec"]["volumes"]}
    for container in containers(pod):
        yield f"  {container['name']}: {' '.join(container.get('args', []))}".rstrip(": ")
        for variable in container.get("env", []):
            yield f"    {variable['name']}{_value(variable)}"
        for mount in container.get("volumeMounts", []):
            ending = ", read only" if mount.get("readOnly") else ""
            yield f"    {mount['mountPath']}: {volumes[mount['name']]} {mount['name']}{ending}"
        for name in sorted(container):
            if name.endswith("Probe") or name == "lifecycle":
                yield f"    {name}: {_asks(container[name])}"


def _of_policy(policy: Object) -> Iterator[str]:
    yield title(policy)
    for direction, ways in (("ingress", "from"), ("egress", "to")):
        for rule in policy["spec"].get(direction) or []:
            peers = json.dumps(rule.get(ways) or "anywhere")
            ports = ", ".join(str(port["port"]) for port in rule.get("ports", [])) or "any port"
            yield f"  {direction} {ways} {peers}, {ports}"


def _kind(volume: Object) -> str:
    [kind] = volume.keys() - {"name"}
    return str(kind)


def _value(variable: Object) -> str:
    if "value" in variable:
        return f"={variable['value']}"
    [(kind, source)] = variable["valueFrom"].items()
    return f" from {kind} {' '.join(source.values())}"


def _asks(probe: Object) -> str:
    for kind in ("exec", "httpGet", "tcpSocket", "preStop"):
        if kind in probe:
            words = probe[kind].get("command") or [probe[kind].get("path", "")]
            return f"{kind} {' '.join(words)}".strip()
    raise ValueError(f"a probe of an unknown kind: {probe}")


if __name__ == "__main__":
    from tests.chart.rendering import rendered

    for name in KEPT:
        (FOLDER / f"{name}.txt").write_text(shape(rendered(name)))
