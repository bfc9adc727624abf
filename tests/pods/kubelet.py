"""The life of one pod: started, probed, restarted where it must be, stopped within its grace."""

import http.client
import json
import os
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

from tests.chart.rendering import Object
from tests.pods import manifest
from tests.pods.node import Node, Seen
from tests.pods.probes import Health, Probe

_EVERY: Final = 0.25
_AGAIN_AFTER: Final = 10.0
"""Seconds from a start that has failed to the next one."""

_GOOD: Final = range(200, 400)
_DECLARED_DEAD: Final = 3
_KILLED: Final = 128 + signal.SIGKILL
_EXCUSED_FOR: Final = 60.0
_LAST_LINES: Final = 15
_RUNTIME: Final = Path("/")
"""The program of a process by which runc starts a probe's, and which it restricts step by step."""


class Pod:
    """A pod on the node.  What `begin` and `leave` ask for is done by a thread of the pod's own."""

    def __init__(self, node: Node, owner: str, template: Object, revision: str) -> None:
        self.owner, self.revision, self.address = owner, revision, node.address()
        self.name = f"{owner}-{revision}-{node.number()}"
        self.containers: Mapping[str, Any] = manifest.described(template)
        self.complaints: list[str] = []
        """What must not happen to a pod that nobody harms."""
        self.restarts: Counter[str] = Counter()
        self._excused: dict[str, tuple[float, int]] = {}
        """Until when each container may end with which status, as it was harmed."""

        self._node, self._template = node, template
        self._health: dict[str, Health] = {}
        self._due: dict[str, float] = {}
        """When a container that has ended is started again."""

        self._leave = Event()
        self._thread = Thread(target=self._live, name=self.name)
        self._up = False

    def begin(self) -> None:
        """Start it."""
        self._thread.start()

    def leave(self) -> None:
        """Stop it: each container by its image's signal, and by SIGKILL after the grace."""
        self._leave.set()

    @property
    def leaving(self) -> bool:
        """Whether it was told to stop."""
        return self._leave.is_set()

    @property
    def gone(self) -> bool:
        """Whether nothing of it is left."""
        return self._thread.ident is not None and not self._thread.is_alive()

    @property
    def ready(self) -> bool:
        """Whether all its containers are ready."""
        health = list(self._health.values())
        return self._up and not self.leaving and all(answer.ready for answer in health)

    @property
    def folder(self) -> Path:
        """Where its manifest, its volumes and its logs are."""
        return self._node.place.folder / self.name

    def seen(self, container: str) -> Seen | None:
        """Return what podman saw of a container when it last looked."""
        return self._node.seen.get(f"{self.name}-{container}")

    def kill(self, container: str) -> bool:
        """Kill the first process of a container, and with it all others; return whether it ran."""
        seen = self.seen(container)
        if seen is None or not seen.running or self.leaving:
            return False
        self._excused[container] = time.monotonic() + _EXCUSED_FOR, _KILLED
        os.kill(seen.pid, signal.SIGKILL)
        return True

    def excuse(self, seconds: float) -> None:
        """For so long, and a minute, containers may end as services that are declared dead do."""
        until = time.monotonic() + seconds + _EXCUSED_FOR
        self._excused.update(dict.fromkeys(self.containers, (until, _DECLARED_DEAD)))

    def complain(self, what: str) -> None:
        """Note what must not be."""
        self.complaints.append(f"{self.name}: {what}")

    def logs(self) -> Iterator[Path]:
        """Yield the logs of its containers, once it is gone."""
        yield from self.folder.glob("*.log")

    def printed(self, container: str) -> str:
        """Return what a container has printed until now; nothing if there is none of the name."""
        printed = self._node.podman("logs", f"{self.name}-{container}", check=False)
        return printed.stdout + printed.stderr

    def _live(self) -> None:
        try:
            while not self._start() and not self._leave.wait(_AGAIN_AFTER):
                self.complain(f"it was not started: {self._said[-500:]}")
            while not self._leave.wait(_EVERY):
                for name in self.containers:
                    self._look_after(name)
            self._stop()
        except Exception as error:  # a thread has nobody else to tell
            self.complain(f"{type(error).__name__}: {error}")
            raise

    def _start(self) -> bool:
        """Run the init containers and start the others; return whether that succeeded."""
        made = manifest.pod(self.name, self.address, self._template, self._node.place)
        file = self.folder / "pod.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(made))
        play = self._node.play(file, self.address)
        while play.poll() is None and not self._leave.is_set():
            try:
                play.wait(_EVERY)
            except subprocess.TimeoutExpired:
                continue
        if play.poll() is None:
            play.kill()
        self._said, _ = play.communicate()
        if play.returncode != 0:
            self._node.podman("pod", "rm", "--force", "--time=0", self.name, check=False)
            return False
        now = time.monotonic()
        self._health = {name: Health(container, now) for name, container in self.containers.items()}
        self._up = True
        return True

    def _look_after(self, name: str) -> None:
        """Start a container anew that has ended; ask its due probes, and stop it if they say so."""
        seen, now = self.seen(name), time.monotonic()
        if seen is None:
            return
        if seen.exited:
            if self._restarts and self._due.get(name, now) <= now:
                self._restart(name)
            return
        health = self._health[name]
        for probe in health.due(now):
            health.note(probe, self._ask(name, probe), time.monotonic())
        if why := health.must_restart:
            self.complain(f"{name} is stopped by its {why}")
            self._node.podman("stop", f"--time={self._grace}", f"{self.name}-{name}")
            self._node.look()

    def _restart(self, name: str) -> None:
        """Start a container that has ended: at once, and then at most every 10 seconds.

        When the last container of a pod ends, podman stops the one that holds the network too.
        """
        seen = [self.seen(container) for container in self.containers]
        whole = all(container is not None and container.exited for container in seen)
        if whole and ((infra := self.seen("infra")) is None or not infra.exited):
            return
        started = list(self.containers) if whole else [name]
        for container_name in started:
            self._health[container_name] = Health(self.containers[container_name], time.monotonic())
            self._due[container_name] = time.monotonic() + _AGAIN_AFTER
            self.restarts[container_name] += 1
            ended = self.seen(container_name)
            if ended is not None and not self._is_excused(container_name, ended.exit_code):
                self.complain(f"{container_name} has ended by itself with status {ended.exit_code}")
        start = ("pod", "start", self.name) if whole else ("start", f"{self.name}-{name}")
        self._node.podman(*start)
        self._node.look()

    def _is_excused(self, name: str, status: int) -> bool:
        until, allowed = self._excused.get(name, (0.0, 0))
        return status == allowed and time.monotonic() < until

    @property
    def _restarts(self) -> bool:
        return bool(self._template["spec"].get("restartPolicy", "Always") == "Always")

    def answers(self) -> bool:
        """Return whether the pod can be reached: by any answer at the ports of its probes."""
        named = [container for container in self.containers.values() if "ports" in container]
        ports = [port["containerPort"] for container in named for port in container["ports"]]
        return all(_answers(self.address, port) for port in ports)

    def _ask(self, name: str, probe: Probe) -> bool:
        if "exec" in probe.manifest:
            command = probe.manifest["exec"]["command"]
            try:
                asked = self._node.podman(
                    *("exec", f"{self.name}-{name}", *command),
                    check=False,
                    patience=probe.timeout,
                )
            except subprocess.TimeoutExpired:
                return False
            return asked.returncode == 0
        wanted = probe.manifest["httpGet"]
        ports = {
            container["name"]: container["containerPort"]
            for container in self.containers[name]["ports"]
        }
        connection = http.client.HTTPConnection(
            self.address, ports[wanted["port"]], timeout=probe.timeout
        )
        try:
            connection.request("GET", wanted["path"])
            return connection.getresponse().status in _GOOD
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    @property
    def _grace(self) -> int:
        return int(self._template["spec"].get("terminationGracePeriodSeconds", 30))

    def _stop(self) -> None:
        if not self._up:
            return
        podman, told = self._node.podman, time.monotonic()
        every = [f"{self.name}-{name}" for name in self.containers]
        # `podman stop` would take the network away as soon as one container has ended.
        for full in every:
            wanted = podman.inspect(full, "container")["Config"]["StopSignal"]
            podman("kill", f"--signal={wanted}", full, check=False)  # it may have ended by itself
        try:
            podman("wait", *every, patience=self._grace)
        except subprocess.TimeoutExpired:
            podman("kill", *every, check=False)
            podman("wait", *every)
        took = time.monotonic() - told
        for name in self.containers:
            full, log = f"{self.name}-{name}", self.printed(name)
            (self.folder / f"{name}.log").write_text(log)
            self._judge(name, podman.inspect(full, "container")["State"], took, log)
        podman("pod", "rm", "--force", self.name)

    def _judge(self, name: str, state: Mapping[str, Any], took: float, log: str) -> None:
        """Complain of a container that has not ended by itself within the grace, and well."""
        status = state["ExitCode"]
        if status != 0 and not self._is_excused(name, status):
            last = "".join(f"\n    {line}" for line in log.splitlines()[-_LAST_LINES:])
            self.complain(
                f"{name} ended with status {status} at {state['FinishedAt']}; the pod took "
                f"{took:.0f} of {self._grace} s to stop; the last that it logged:{last}"
            )


def _answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def exposed(seen: Seen) -> Iterator[str]:
    """Yield what processes of a container have that no restricted pod may have, by the kernel.

    These are the processes in the container's own namespace of process ids.
    """
    own = _namespace(seen.pid)
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        if own is not None and _namespace(pid) == own:
            try:
                if (folder / "exe").readlink() != _RUNTIME:
                    yield from (f"process {pid}: {exposure}" for exposure in _exposed(folder))
            except OSError:  # it has ended
                continue


def _namespace(pid: int) -> str | None:
    try:
        return str(Path(f"/proc/{pid}/ns/pid").readlink())
    except OSError:
        return None


def _exposed(folder: Path) -> Iterator[str]:
    lines = (folder / "status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    if "0" in (*status["Uid"].split(), *status["Gid"].split(), *status["Groups"].split()):
        yield "it has the rights of root, or of root's group"
    if int(status["CapEff"], 16) or int(status["CapBnd"], 16):
        yield f"it has the capabilities {status['CapEff']} of {status['CapBnd']}"
    if status["NoNewPrivs"] != "1":
        yield "it may gain privileges"
    if status["Seccomp"] != "2":
        yield "its system calls are not filtered"
    mounts = (line.split() for line in (folder / "mountinfo").read_text().splitlines())
    if any(mount[4] == "/" and "ro" not in mount[5].split(",") for mount in mounts):
        yield "its root can be written to"
