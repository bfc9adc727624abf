"""The images of Headway as tests have them: built from this checkout, layers kept in between."""

import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from headway import __version__
from headway.testing.containers.podman import Podman

ROOT: Final = Path(__file__).parents[4]

_PROFILE: Final = Path("/usr/share/containers/seccomp.json")
_NAMESPACES: Final = ("clone", "clone3", "mount", "pivot_root", "setns", "umount2", "unshare")
_NEW_NAMESPACE: Final = 0x7E020000
_ENOSYS: Final = 38
_OLD: Final = "168h"
_PATIENCE: Final = 1800.0


def built_images(
    podman: Podman, *targets: str, checkout: Path = ROOT, prefix: str = ""
) -> list[str]:
    """Build images for these targets of deploy/images/Dockerfile; return their names.

    Steps whose input has not changed since the last time take no time.
    """
    with _alone(podman.store / "lock"):
        _run(podman, "deploy/wheel", checkout=checkout)
        _run(podman, "deploy/images/build", *targets, checkout=checkout, PREFIX=prefix)
        podman("image", "prune", "--force", "--filter", f"until={_OLD}")
        [wheel] = (checkout / "dist").glob("headway-*.whl")
    version = wheel.name.split("-")[1]
    return [f"localhost/{prefix}{target}:{version}" for target in targets]


def built_image(podman: Podman, name: str, folder: Path, *options: str) -> str:
    """Build an image of a test's own from the Dockerfile in a folder; return its name."""
    base_image(podman)
    with _alone(podman.store / "lock"):
        command = ["buildah", "build", "--layers", "--pull=never", *options, f"--tag={name}"]
        _run(podman, *command, str(folder))
    return name if "/" in name else f"localhost/{name}"


def image_with_packages(podman: Podman, name: str, image: str, requirements: str) -> str:
    """Build an image upon another one, with further packages; return its name."""
    with TemporaryDirectory() as folder, TemporaryDirectory() as secrets:
        Path(folder, "requirements.txt").write_text(requirements)
        _run(podman, "deploy/images/pip-conf", secrets)
        options = [f"--secret=id={name},src={secrets}/{name}" for name in ("pip.conf", "ca.crt")]
        options += ["--file=deploy/images/packages.Dockerfile", f"--build-arg=IMAGE={image}"]
        return built_image(podman, name, Path(folder), *options)


def postgres_image(podman: Podman) -> str:
    """Build an image with Debian's PostgreSQL 15, used like the official one; return its name."""
    return built_image(podman, "postgres-for-tests:15", ROOT / "tests" / "images" / "postgres")


def bill_of_materials(podman: Podman, image: str) -> Path:
    """Write what an image of `built_images` is made of; return the file, in dist/."""
    target = image.rpartition("/")[2].partition(":")[0]
    with _alone(podman.store / "lock"):
        _run(podman, "deploy/images/sbom", target)
    return ROOT / "dist" / f"{target}-{__version__}.cdx.json"


def base_image(podman: Podman) -> str:
    """Return the name of the base image, which is made if it is not there."""
    name = "docker.io/library/debian:bookworm-slim"
    with _alone(podman.store / "lock"):
        if podman("image", "exists", name, check=False).returncode != 0:
            _run(podman, "deploy/images/base", name)
    return name


def namespaces_refused(folder: Path) -> Path:
    """Write a profile of system calls like the default one of Docker and of containerd.

    Podman's own lets programs make user namespaces, which those two refuse.
    """
    profile = json.loads(_PROFILE.read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name not in _NAMESPACES]
    same = {"index": 0, "value": _NEW_NAMESPACE, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}
    profile["syscalls"] += [
        {"names": ["clone"], "action": "SCMP_ACT_ALLOW", "args": [same]},
        {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    ]
    file = folder / "seccomp.json"
    file.write_text(json.dumps(profile))
    return file


def _run(podman: Podman, *command: str, checkout: Path = ROOT, **variables: str) -> None:
    own = {"PYTHON": sys.executable, "ENGINE": "buildah", **variables}
    done = subprocess.run(
        command,
        cwd=checkout,
        env={**podman.environment, **own},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}"


@contextmanager
def _alone(file: Path) -> Iterator[None]:
    """Wait until no other process of tests builds."""
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
