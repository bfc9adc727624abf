"""The life of one pod: started, probed, restarted where it must be, stopped within its grace."""

import http.client
import json
import os
import signal
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
_STOP_SLACK: Final = 60.0


class Pod:
    """A pod on the node.  What `begin` and `leave` ask for is done by a thread of the pod's own."""

    def __init__(self, node: Node, owner: str, template: Object, revision: str) -> None:
        self.owner, self.revision, self.address = owner, revision, node.address()
        self.name = f"{owner}-{revision}-{node.number()}"
        self.containers: Mapping[str, Any] = manifest.described(template)
        self.complaints: list[str] = []
        """What must not happen to a pod that nobody harms."""
        self.restarts: Counter[str] = Counter()
        self._harmed: Counter[str] = Counter()
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
        """Stop it: SIGTERM for all containers, and SIGKILL after the grace."""
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
        return self._up and not self.leaving and all(it.ready for it in health)

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
        self._harmed[container] += 1
        os.kill(seen.pid, signal.SIGKILL)
        return True

    def harm(self) -> None:
        """Take note that each container may now end with the status of a service declared dead."""
        self._harmed.update(list(self.containers))

    def logs(self) -> Iterator[Path]:
        """Yield the logs of its containers, once it is gone."""
        yield from self.folder.glob("*.log")

    def _live(self) -> None:
        try:
            while not self._start() and not self._leave.wait(_AGAIN_AFTER):
                self.complaints.append(f"{self.name} was not started: {self._said[-500:]}")
            while not self._leave.wait(_EVERY):
                for name in self.containers:
                    self._look_after(name)
            self._stop()
        except Exception as error:  # a thread has nobody else to tell
            self.complaints.append(f"{self.name}: {type(error).__name__}: {error}")
            raise

    def _start(self) -> bool:
        """Run the init containers and start the others; return whether that succeeded."""
        made = manifest.pod(self.name, self._template, self._node.place)
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
        self._health = {name: Health(it, now) for name, it in self.containers.items()}
        self._up = True
        return True

    def _look_after(self, name: str) -> None:
        """Note a restart, ask the probes that are due, and restart the container if they say so."""
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
            self.complaints.append(f"{self.name}: {name} is stopped by its {why}")
            self._node.podman("stop", f"--time={self._grace}", f"{self.name}-{name}")
            self._node.look()

    def _restart(self, name: str) -> None:
        """Start a container that has ended: at once, and then at most every 10 seconds.

        When the last container of a pod ends, podman stops the one that holds the network too.
        """
        seen = [self.seen(it) for it in self.containers]
        whole = all(it is not None and it.exited for it in seen)
        if whole and ((infra := self.seen("infra")) is None or not infra.exited):
            return
        self._health[name] = Health(self.containers[name], time.monotonic())
        self.restarts[name] += 1
        if self.restarts[name] > self._harmed[name]:
            self.complaints.append(f"{self.name}: the container {name} has ended by itself")
        start = ("pod", "start", self.name) if whole else ("start", f"{self.name}-{name}")
        self._node.podman(*start)
        self._due[name] = time.monotonic() + _AGAIN_AFTER
        self._node.look()

    @property
    def _restarts(self) -> bool:
        return bool(self._template["spec"].get("restartPolicy", "Always") == "Always")

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
        ports = {it["name"]: it["containerPort"] for it in self.containers[name]["ports"]}
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
        podman, patience = self._node.podman, self._grace + _STOP_SLACK
        # `podman pod stop` would take the network away while containers still end.
        every = [f"{self.name}-{name}" for name in self.containers]
        podman("stop", f"--time={self._grace}", *every, patience=patience)
        for name in self.containers:
            full = f"{self.name}-{name}"
            self._judge(name, podman.inspect(full, "container")["State"]["ExitCode"])
            printed = podman("logs", full)
            (self.folder / f"{name}.log").write_text(printed.stdout + printed.stderr)
        podman("pod", "rm", "--force", self.name)

    def _judge(self, name: str, status: int) -> None:
        """Complain of a container that has not ended by itself within the grace, and well."""
        allowed = {0, _DECLARED_DEAD} if self._harmed[name] else {0}
        if status not in allowed:
            self.complaints.append(f"{self.name}: {name} ended with status {status}")


def exposed(seen: Seen) -> Iterator[str]:
    """Yield what a container has that a restricted pod must not have, as the kernel tells it."""
    lines = Path(f"/proc/{seen.pid}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    if "0" in status["Uid"].split():
        yield "it runs as root"
    if int(status["CapEff"], 16) or int(status["CapBnd"], 16):
        yield f"it has the capabilities {status['CapEff']} of {status['CapBnd']}"
    if status["NoNewPrivs"] != "1":
        yield "it may gain privileges"
    mounts = Path(f"/proc/{seen.pid}/mountinfo").read_text().splitlines()
    [root] = (it.split()[5] for it in mounts if it.split()[4] == "/")
    if "ro" not in root.split(","):
        yield "its root can be written to"
