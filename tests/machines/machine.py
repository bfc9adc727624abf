"""Machines on one kernel: each has files, processes, a network and a systemd of its own.

A machine sees the files of this one, and keeps its changes to itself (overlayfs). It takes root,
and leaves nothing behind when it is switched off.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Final

from headway.testing.time.clock import until

_BOOT: Final = Path(__file__).with_name("boot.sh")
_NAMESPACES: Final = ("--mount", "--pid", "--uts", "--ipc", "--cgroup", "--net", "--fork")
_OUTSIDE: Final = 'echo $$ > "$GROUP/cgroup.procs"; exec unshare "$@"'
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_BOOTED: Final = 60.0


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine that runs."""

    name: str
    address: str
    pid: int
    """The process id of its systemd, as this machine has it."""
    network: "Network" = field(repr=False)

    def enter(self, *command: str) -> list[str]:
        """Return the command that runs another one there, as root."""
        variables = [f"PATH={_PATH}", "HOME=/root", "LANG=C.UTF-8", "SYSTEMD_PAGER="]
        return [
            *("nsenter", "--target", str(self.pid), "--mount", "--uts", "--ipc", "--net"),
            *("--pid", "--cgroup", "--root", "--wd", "/usr/bin/env", "-i", *variables, *command),
        ]

    def run(self, script: str, *, timeout: float = 300.0) -> str:
        """Run a script there; return what it prints, or fail with all that it has said."""
        done = subprocess.run(
            self.enter("bash", "-euo", "pipefail", "-c", script),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        said = f"{done.stdout}{done.stderr}"
        if done.returncode:
            said += self.run("journalctl --lines 40 --output cat --unit 'headway-*'")
        assert done.returncode == 0, f"On {self.name}, status {done.returncode}:\n{script}\n{said}"
        return done.stdout

    def cut(self) -> None:
        """Take it off the network."""
        self.network.link(self.name, "down")

    def join(self) -> None:
        """Put it back onto the network."""
        self.network.link(self.name, "up")


@dataclass(frozen=True, slots=True)
class Network:
    """A switch in a network namespace of its own, with a wire to each machine."""

    namespace: str

    def link(self, machine: str, state: str) -> None:
        """Switch the wire of a machine on or off."""
        self._ip("link", "set", f"to-{machine}", state)

    def wire(self, machine: str, address: str, pid: int) -> None:
        """Connect a machine that has booted."""
        inside = ("nsenter", "--target", str(pid), "--net", "ip")
        self._ip("link", "add", f"to-{machine}", "type", "veth", "peer", "name", "up0")
        self._ip("link", "set", "up0", "netns", str(pid), "name", "eth0")
        self._ip("link", "set", f"to-{machine}", "master", "switch")
        self.link(machine, "up")
        for words in (
            ("address", "add", f"{address}/24", "dev", "eth0"),
            ("link", "set", "eth0", "up"),
            ("link", "set", "lo", "up"),
        ):
            _do(*inside, *words)

    def _ip(self, *words: str) -> None:
        _do("ip", "-n", self.namespace, *words)


@contextmanager
def machines(root: Path, addresses: Mapping[str, str], packages: Path) -> Iterator[list[Machine]]:
    """Boot machines of these names and addresses, which know each other's.

    The folder `packages` is `/opt/packages` there.
    """
    with ExitStack() as ending:
        network = ending.enter_context(_network())
        hosts = "".join(f"{address} {name}\n" for name, address in addresses.items())
        yield [
            ending.enter_context(_machine(root / name, name, address, network, hosts, packages))
            for name, address in addresses.items()
        ]


@contextmanager
def _network() -> Iterator[Network]:
    network = Network(f"headway-{token_hex(4)}")
    _do("ip", "netns", "add", network.namespace)
    try:
        _do("ip", "-n", network.namespace, "link", "add", "switch", "type", "bridge")
        _do("ip", "-n", network.namespace, "link", "set", "switch", "up")
        yield network
    finally:
        _do("ip", "netns", "delete", network.namespace)


@contextmanager
def _machine(
    folder: Path, name: str, address: str, network: Network, hosts: str, packages: Path
) -> Iterator[Machine]:
    folder.mkdir(parents=True)
    group = _control_groups() / f"{network.namespace}-{name}"
    group.mkdir()
    environment = {
        **os.environ,
        "GROUP": str(group),
        "MACHINE": str(folder),
        "NAME": name,
        "HOSTS": hosts,
        "PACKAGES": str(packages),
    }
    with (folder / "console").open("wb") as console:
        outside = subprocess.Popen(
            ["bash", "-eu", "-c", _OUTSIDE, "bash", *_NAMESPACES, "bash", "-eu", str(_BOOT)],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
        )
    try:
        pid = until(lambda: _child(outside), f"process 1 of {name}", _BOOTED)
        machine = Machine(name, address, pid, network)
        until(lambda: _is_up(machine), f"{name} has booted", _BOOTED)
        network.wire(name, address, pid)
        yield machine
    finally:
        for pid in filter(None, [_child(outside)]):
            os.kill(pid, signal.SIGKILL)  # and so everything there
        outside.wait()
        _remove(group)


def _control_groups() -> Path:
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return next(Path(place) for _, place, kind, *_ in mounts if kind == "cgroup2")


def _remove(group: Path) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        until(lambda: _removed(Path(folder)), f"nothing runs in {folder}", _BOOTED)  # noqa: B023


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:  # what has been killed is still there
        return False
    return True


def _child(process: "subprocess.Popen[bytes]") -> int:
    assert process.poll() is None, f"The machine has ended with status {process.returncode}."
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(listed[0]) if listed else 0


def _is_up(machine: Machine) -> bool:
    asked = subprocess.run(
        machine.enter("systemctl", "is-system-running"), capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() in ("running", "degraded")


def _do(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
