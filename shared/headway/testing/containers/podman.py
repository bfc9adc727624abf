"""Containers for tests: podman and buildah as root, with a store of their own.

The store is in the user's cache, so that images and their layers are there for the next session.
Whoever runs containers needs a program each of Debian's packages; the test skips without them.
"""

import json
import os
import resource
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any, Final, Self

import pytest

from headway.runtime.settings import configuration
from headway.testing.processes.required import required_program
from headway.testing.time.clock import PATIENCE

PROGRAMS: Final = {
    "buildah": "buildah",
    "podman": "podman",
    "runc": "runc",
    "catatonit": "catatonit",
    "iptables": "iptables",
    "/usr/lib/podman/netavark": "netavark",
    "/usr/lib/podman/aardvark-dns": "aardvark-dns",
}
"""What has to be there, and the package that has it."""

RESTRICTED: Final = (
    "--read-only",
    "--read-only-tmpfs=false",
    "--cap-drop=ALL",
    "--security-opt=no-new-privileges",
    "--tmpfs=/tmp",
    "--tmpfs=/var/lib/headway",
)
"""Options under which a container of an image is like one of a pod that Kubernetes restricts."""

ISOLATED: Final = (*RESTRICTED, "--network=none")
"""The same without a network."""

# crun refuses control groups of both versions at once, and podman's own limits are higher than
# what this process may give.
_CONTAINERS: Final = """\
[containers]
default_ulimits = ["nofile={files}:{files}", "nproc={processes}:{processes}"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_PLENTY: Final = 32768
_STORAGE: Final = """\
[storage]
driver = "{driver}"
graphroot = "{root}/storage"
runroot = "/run/headway-images"
"""


@dataclass(frozen=True, slots=True)
class Podman:
    """The podman of the tests.  Call it with the words of its command line."""

    environment: Mapping[str, str]
    """For whatever shall use the same store: podman, buildah, deploy/images/build."""

    store: Path

    @classmethod
    def here(cls) -> Self:
        """Return the one of this machine; skip the test where there is none."""
        if os.geteuid() != 0:
            pytest.skip("containers of tests are run by root")
        for program, package in PROGRAMS.items():
            required_program(program, package)
        inherited = configuration.environment()
        cache = inherited.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
        store = Path(cache) / "headway" / "images"
        own = {
            "CONTAINERS_CONF": str(_written(store / "containers.conf", _containers())),
            "CONTAINERS_STORAGE_CONF": str(_written(store / "storage.conf", _storage(store))),
            "BUILDAH_ISOLATION": "chroot",
        }
        return cls({**inherited, **own}, store)

    def __call__(
        self, *arguments: str, check: bool = True, patience: float = PATIENCE
    ) -> "subprocess.CompletedProcess[str]":
        """Run podman to its end; one that fails fails the test, unless that is not checked."""
        done = subprocess.run(
            ["podman", *arguments],
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=patience,
            check=False,
        )
        assert not check or done.returncode == 0, f"{done.args}\n{done.stdout}\n{done.stderr}"
        return done

    def inspect(self, name: str, kind: str = "image") -> dict[str, Any]:
        """Return what podman knows of an image, or of another kind of thing."""
        (found,) = json.loads(self("inspect", "--type", kind, name).stdout)
        return dict(found)

    def run(self, options: Sequence[str], image: str, *command: str, check: bool = True) -> str:
        """Run a container to its end, and return what it has printed."""
        return self("run", "--rm", *options, image, *command, check=check).stdout

    @contextmanager
    def running(
        self, options: Sequence[str], image: str, *command: str, name: str = ""
    ) -> Iterator["Container"]:
        """Have a container run for as long as the context lasts."""
        name = name or f"headway-{token_hex(4)}"
        self("run", "--detach", f"--name={name}", *options, image, *command)
        try:
            yield Container(self, name)
        finally:
            self("rm", "--force", "--time=10", name)


@dataclass(frozen=True, slots=True)
class Container:
    """A container that was started."""

    podman: Podman
    name: str

    def run(self, *command: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        """Run a command in it to its end."""
        return self.podman("exec", self.name, *command, check=check)

    def log(self) -> str:
        """Return what it has printed so far."""
        done = self.podman("logs", self.name)
        return done.stdout + done.stderr

    def is_running(self) -> bool:
        """Return whether it has not ended."""
        return bool(self.podman.inspect(self.name, "container")["State"]["Running"])

    def stop(self, seconds: int = 30) -> int:
        """Send SIGTERM, and SIGKILL if it has not ended by then; return its exit status."""
        self.podman("stop", f"--time={seconds}", self.name)
        return int(self.podman.inspect(self.name, "container")["State"]["ExitCode"])


def _containers() -> str:
    return _CONTAINERS.format(
        files=_most(resource.RLIMIT_NOFILE), processes=_most(resource.RLIMIT_NPROC)
    )


def _most(limit: int) -> int:
    """Return how much of something a container can get from this process."""
    _, most = resource.getrlimit(limit)
    return _PLENTY if most == resource.RLIM_INFINITY else min(most, _PLENTY)


def _storage(store: Path) -> str:
    overlay = "\toverlay\n" in Path("/proc/filesystems").read_text()
    return _STORAGE.format(driver="overlay" if overlay else "vfs", root=store)


def _written(file: Path, content: str) -> Path:
    """Write a file unless it says that already: another process may be reading it."""
    if not (file.is_file() and file.read_text() == content):
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(f".{token_hex(4)}")
        draft.write_text(content)
        draft.replace(file)
    return file
