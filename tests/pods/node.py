"""The one node that pods of tests run on: podman, a network, and what is known of containers."""

import fcntl
import itertools
import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.pods.manifest import SECCOMP, Place

from headway.testing.containers.images import namespaces_refused
from headway.testing.containers.podman import Podman

NETWORK: Final = "headway-pods"
_SUBNET: Final = "10.213.0"
_RULES: Final = (("INPUT", "-i"), ("OUTPUT", "-o"))


@dataclass(frozen=True, slots=True)
class Seen:
    """A container as podman sees it."""

    pid: int
    running: bool
    exited: bool
    exit_code: int


@dataclass(slots=True)
class Node:
    """Starts and stops pods, and looks at their containers."""

    podman: Podman
    place: Place
    seen: Mapping[str, Seen] = field(default_factory=dict)
    """Every container by its name, as of the last look; `POD-infra` holds the network of a pod."""

    _addresses: Iterator[int] = field(default_factory=lambda: iter(range(10, 250)))
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def address(self) -> str:
        """Return an address that no pod had."""
        return f"{_SUBNET}.{next(self._addresses)}"

    def number(self) -> int:
        """Return a number that no pod has in its name."""
        return next(self._numbers)

    def look(self) -> None:
        """Look at all containers anew."""
        found = json.loads(self.podman("ps", "--all", "--pod", "--format=json").stdout or "[]")
        self.seen = {
            _name(container): Seen(
                container["Pid"],
                container["State"] == "running",
                container["Exited"],
                container["ExitCode"],
            )
            for container in found
        }

    def play(self, file: Path, address: str) -> "subprocess.Popen[str]":
        """Begin to start the pod of a manifest; it ends when all containers are started."""
        command = ["podman", "kube", "play", f"--network={NETWORK}", f"--ip={address}"]
        command += [f"--seccomp-profile-root={self.place.folder}", str(file)]
        return subprocess.Popen(
            command,
            env=dict(self.podman.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @contextmanager
    def cut_off(self, pid: int) -> Iterator[None]:
        """Drop every packet from and to the network of this process, so that nobody is told."""
        with open(f"/proc/{pid}/ns/net") as network:  # noqa: PTH123 - a descriptor to pass on

            def filtering(action: str) -> None:
                for chain, interface in _RULES:
                    rule = (action, chain, interface, "eth0", "--jump", "DROP")
                    command = ["nsenter", f"--net=/proc/self/fd/{network.fileno()}", "iptables"]
                    subprocess.run([*command, *rule], pass_fds=[network.fileno()], check=True)

            filtering("--append")
            try:
                yield
            finally:
                filtering("--delete")


def _name(container: Mapping[str, Any]) -> str:
    own: str = container["Names"][0]
    return f"{container['PodName']}-infra" if container["IsInfra"] else own


@contextmanager
def node(podman: Podman, place: Place) -> Iterator[Node]:
    """Give a node with an empty network; no pod is left afterwards."""
    place.folder.mkdir(parents=True, exist_ok=True)
    assert namespaces_refused(place.folder).name == SECCOMP
    with (podman.store / "pods.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another play has the same network
        _clear(podman)
        subnet = (f"--subnet={_SUBNET}.0/24", f"--gateway={_SUBNET}.1")
        podman("network", "create", "--disable-dns", *subnet, NETWORK)
        try:
            yield Node(podman, place)
        finally:
            _clear(podman)


def _clear(podman: Podman) -> None:
    """Remove the network with every pod in it, also one that a killed test has left."""
    podman("network", "rm", "--force", "--time=0", NETWORK, check=False)
