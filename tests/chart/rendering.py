"""The chart with a set of values, as Helm renders it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import yaml
from tests.chart.helm import run

ROOT: Final = Path(__file__).parents[2]
CHART: Final = ROOT / "deploy" / "helm" / "headway"
SETS: Final = {
    path.name.removesuffix("-values.yaml"): path
    for path in sorted((CHART / "ci").glob("*-values.yaml"))
}
"""The value sets, by name."""

NAMESPACE: Final = "flows"
LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Object: TypeAlias = Mapping[str, Any]


class RefusedError(Exception):
    """What Helm says of values that the chart refuses."""


@cache
def rendered(name: str, major: int = 4) -> tuple[Object, ...]:
    """Return the objects of a value set."""
    return render(SETS[name], major=major)


def render(*values: Path, major: int = 4, chart: Path = CHART) -> tuple[Object, ...]:
    """Return the objects that these files of values give; RefusedError if Helm refuses them."""
    files = [word for path in values for word in ("--values", str(path))]
    arguments = ["template", "release", str(chart), "--namespace", NAMESPACE, *files]
    done = run(major, *arguments)
    if done.returncode != 0:
        raise RefusedError(done.stderr)
    return tuple(each for each in yaml.load_all(done.stdout, Loader=LOADER) if each is not None)


def lint(name: str, major: int) -> list[str]:
    """Return what `helm lint --strict` has against a value set."""
    done = run(major, "lint", "--strict", str(CHART), "--values", str(SETS[name]))
    return [] if done.returncode == 0 else [f"lint: {done.stdout}{done.stderr}"]


def title(found: Object) -> str:
    """Return the kind and the name of an object."""
    return f"{found['kind']} {found['metadata']['name']}"


def of_kind(objects: Sequence[Object], *kinds: str) -> Iterator[Object]:
    """Yield the objects of these kinds."""
    return (each for each in objects if each["kind"] in kinds)


def pods(objects: Sequence[Object]) -> Iterator[tuple[str, Object]]:
    """Yield every pod as its controller makes it, with the object that says so."""
    for each in of_kind(objects, "Deployment", "StatefulSet", "Job"):
        template = each["spec"]["template"]
        claims = [
            {"name": claim["metadata"]["name"], "persistentVolumeClaim": {}}
            for claim in each["spec"].get("volumeClaimTemplates", [])
        ]
        volumes = [*template["spec"].get("volumes", []), *claims]
        yield title(each), {**template, "spec": {**template["spec"], "volumes": volumes}}


def executors(objects: Sequence[Object]) -> Iterator[tuple[str, Object]]:
    """Yield the templates of pods that Spark makes."""
    for each in of_kind(objects, "ConfigMap"):
        if "executor.yaml" in each["data"]:
            yield title(each), yaml.load(each["data"]["executor.yaml"], Loader=LOADER)


def containers(pod: Object) -> list[Object]:
    """Return all containers of a pod, those that run before the others first."""
    spec = pod["spec"]
    return [*spec.get("initContainers", []), *spec["containers"]]
