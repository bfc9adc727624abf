"""Print what the image that this runs in is made of: CycloneDX 1.6, in JSON.

Arguments: the image's name and version, and when it was made.  Components are the Python packages
of Headway's virtual environment, the packages of Debian, and the libraries in Spark's archives.
"""

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

Component = dict[str, Any]

POM = re.compile(r"META-INF/maven/[^/]+/[^/]+/pom\.properties")
NAME = re.compile(r"[A-Za-z0-9._-]+")
TOOL = {"type": "application", "name": "components.py of Headway"}
DEBIAN = "${db:Status-Status}\t${Package}\t${Version}\t${Architecture}\n"


def component(name: str, version: str, *, purl: str = "", **more: Any) -> Component:
    """Return a component of the bill, known by its package URL if it has one."""
    more = {key: value for key, value in {"purl": purl, **more}.items() if value}
    reference = purl or f"{name}@{version}"
    return {"type": "library", "bom-ref": reference, "name": name, "version": version, **more}


def python_packages() -> Iterator[tuple[Component, list[str]]]:
    """Yield each package of this environment, with the names of those that it may need."""
    for found in distributions():
        name = normalized(found.name)
        purl = f"pkg:pypi/{name}@{quote(found.version)}"
        needs = [
            normalized(match[0])
            for requirement in found.requires or ()
            if (match := NAME.match(requirement))
        ]
        yield component(name, found.version, purl=purl, licenses=licences(found)), needs


def normalized(name: str) -> str:
    """Return the one spelling of a Python package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def licences(found: Distribution) -> list[dict[str, Any]]:
    """Return the licence that a package names: as an expression, or in its own words."""
    told = found.metadata
    if "License-Expression" in told:
        return [{"expression": told["License-Expression"]}]
    words = told["License"].strip() if "License" in told else ""
    return [{"license": {"name": words}}] if words and "\n" not in words else []


def debian_packages() -> Iterator[Component]:
    """Yield each package that dpkg has installed."""
    command = ["dpkg-query", "--show", f"--showformat={DEBIAN}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    for name, version, architecture in (row[1:] for row in rows if row[0] == "installed"):
        where = f"arch={architecture}&distro=debian-12"
        yield component(
            name, version, purl=f"pkg:deb/debian/{quote(name)}@{quote(version)}?{where}"
        )


def java_libraries() -> Iterator[Component]:
    """Yield each library that an archive of Spark says it has, also of those put into another."""
    found: dict[str, Component] = {}
    for archive in sorted(Path(sys.prefix).glob("lib/python3*/site-packages/pyspark/jars/*.jar")):
        for each in of_archive(archive):
            found[each["bom-ref"]] = each
    yield from found.values()


def of_archive(archive: Path) -> Iterator[Component]:
    """Yield what an archive has by its own account; else one library by the archive's name."""
    with zipfile.ZipFile(archive) as opened:
        poms = [opened.read(each).decode() for each in opened.namelist() if POM.fullmatch(each)]
    for pom in poms:
        told = dict(re.findall(r"^(\w+)\s*=\s*(\S+)\s*$", pom, re.MULTILINE))
        if {"groupId", "artifactId", "version"} <= told.keys():
            group, name, version = told["groupId"], told["artifactId"], told["version"]
            purl = f"pkg:maven/{quote(group)}/{quote(name)}@{quote(version)}"
            yield component(name, version, purl=purl, group=group)
    if not poms and (named := re.fullmatch(r"(.+?)-(\d.*)", archive.stem)):
        yield component(named[1], named[2])


def bill(name: str, version: str, created: str) -> dict[str, Any]:
    """Return the bill of materials of an image."""
    python = list(python_packages())
    references = {each["name"]: each["bom-ref"] for each, _ in python}
    components = [*(each for each, _ in python), *debian_packages(), *java_libraries()]
    image = {"type": "container", "bom-ref": f"{name}@{version}", "name": name, "version": version}
    needs = {each["bom-ref"]: known(references, names) for each, names in python}
    needs[image["bom-ref"]] = sorted(each["bom-ref"] for each in components)
    content = json.dumps([image, components], sort_keys=True)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(NAMESPACE_URL, content)}",
        "version": 1,
        "metadata": {"timestamp": created, "tools": {"components": [TOOL]}, "component": image},
        "components": sorted(components, key=lambda it: it["bom-ref"]),
        "dependencies": [{"ref": ref, "dependsOn": needs[ref]} for ref in sorted(needs)],
    }


def known(references: dict[str, str], names: Iterable[str]) -> list[str]:
    """Return the references of those packages that are there."""
    return sorted({references[name] for name in names if name in references})


if __name__ == "__main__":
    json.dump(bill(*sys.argv[1:]), sys.stdout, indent=1)
