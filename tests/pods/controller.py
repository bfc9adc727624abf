"""Deployments and Jobs of a release: the pods that they want are started and stopped."""

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from threading import Event, RLock, Thread
from typing import Any, Final

from tests.chart.checks.immutable import changes
from tests.chart.rendering import Object, of_kind
from tests.pods.kubelet import Pod
from tests.pods.node import Node
from tests.pods.rollout import Replica, next_step

_EVERY: Final = 1.0


@dataclass(slots=True)
class Deployment:
    """What is wanted of a Deployment, and the pods that there are."""

    name: str
    template: Object
    wanted: int
    surge: int
    unavailable: int
    pods: list[Pod] = field(default_factory=list)

    @property
    def revision(self) -> str:
        """Name the template by its content."""
        return sha256(json.dumps(self.template, sort_keys=True).encode()).hexdigest()[:8]

    @property
    def settled(self) -> bool:
        """Whether it has all the pods that it wants, ready, and no other."""
        live = [pod for pod in self.pods if not pod.gone]
        good = (pod.ready and pod.revision == self.revision for pod in live)
        return len(live) == self.wanted and all(good)


@dataclass(slots=True)
class Job:
    """A Job, and its pods, one after the other until one succeeds."""

    name: str
    template: Object
    retries: int
    pods: list[Pod] = field(default_factory=list)
    succeeded: bool = False

    @property
    def settled(self) -> bool:
        """Whether it has succeeded."""
        return self.succeeded


class Cluster:
    """What `kubectl` would talk to.  A thread does what is wanted; `settled` tells the end."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.deployments: dict[str, Deployment] = {}
        self.jobs: dict[str, Job] = {}
        self._objects: Sequence[Object] = ()
        self._lock, self._end = RLock(), Event()
        self._thread = Thread(target=self._run, name="controller")
        self._failure: Exception | None = None

    def apply(self, objects: Sequence[Object]) -> None:
        """Want these objects: what `helm install` and `helm upgrade` do."""
        if refused := changes(self._objects, objects):
            raise ValueError(f"The API server refuses the upgrade: {'; '.join(refused)}")
        with self._lock:
            self._objects = objects
            for each in of_kind(objects, "Job"):
                name, spec = each["metadata"]["name"], each["spec"]
                job = Job(name, spec["template"], spec["backoffLimit"])
                self.jobs.setdefault(name, job)
            for deployment in self.deployments.values():
                deployment.wanted = 0  # unless it is among the new ones
            for each in of_kind(objects, "Deployment"):
                self._apply_deployment(each)

    def scale(self, name: str, wanted: int) -> None:
        """Want so many pods of a Deployment."""
        with self._lock:
            self.deployments[name].wanted = wanted

    def restart(self, name: str) -> None:
        """Want all pods of a Deployment anew: what `kubectl rollout restart` does."""
        with self._lock:
            it = self.deployments[name]
            metadata = it.template["metadata"]
            stamped = {**metadata.get("annotations", {}), "restartedAt": str(time.time())}
            it.template = {**it.template, "metadata": {**metadata, "annotations": stamped}}

    def pods(self, name: str = "") -> list[Pod]:
        """Return all pods that run now, or those of one Deployment."""
        with self._lock:
            chosen = [
                deployment
                for deployment in self.deployments.values()
                if name in ("", deployment.name)
            ]
            return [
                pod
                for deployment in chosen
                for pod in deployment.pods
                if not pod.gone and not pod.leaving
            ]

    def every_pod(self) -> list[Pod]:
        """Return all pods that there were and are."""
        with self._lock:
            owners: list[Deployment | Job] = [*self.deployments.values(), *self.jobs.values()]
            return [pod for owner in owners for pod in owner.pods]

    def settled(self) -> bool:
        """Whether everything is as it is wanted."""
        with self._lock:
            self.check()
            owners: list[Deployment | Job] = [*self.deployments.values(), *self.jobs.values()]
            return all(owner.settled for owner in owners)

    def unready(self) -> str:
        """Tell the pods that are not ready, each with the last line of each container."""
        return "\n".join(
            f"{pod.name} is not ready. {name}: {''.join(pod.printed(name).splitlines()[-1:])}"
            for pod in self.pods()
            if not pod.ready
            for name in pod.containers
        )

    def check(self) -> None:
        """Raise what the thread has failed by, or that of a pod."""
        if self._failure is not None:
            raise self._failure
        for pod in self.every_pod():
            if pod.gone and not pod.leaving:
                raise RuntimeError(f"Nobody looks after {pod.name}: {pod.complaints}")

    def step(self) -> None:
        """Do the next thing for each object."""
        self.node.look()
        with self._lock:
            for deployment in self.deployments.values():
                self._step(deployment)
            for job in self.jobs.values():
                self._step_job(job)

    @contextmanager
    def running(self) -> Iterator["Cluster"]:
        """Have the thread at work; stop all pods in the end, all at once."""
        self._thread.start()
        try:
            yield self
        finally:
            with self._lock:
                for deployment in self.deployments.values():
                    deployment.wanted = 0
                for pod in self.every_pod():
                    pod.leave()
            while any(not pod.gone for pod in self.every_pod()):
                self._end.wait(_EVERY)
            self._end.set()
            self._thread.join()
        self.check()

    def _run(self) -> None:
        while not self._end.wait(_EVERY):
            try:
                self.step()
            except Exception as error:
                self._failure = error
                raise

    def _apply_deployment(self, given: Object) -> None:
        name, spec = given["metadata"]["name"], given["spec"]
        allowed = spec["strategy"]["rollingUpdate"]
        made = Deployment(
            *(name, spec["template"], spec["replicas"]),
            *(allowed["maxSurge"], allowed["maxUnavailable"]),
        )
        old = self.deployments.get(name)
        made.pods = old.pods if old else []
        self.deployments[name] = made

    def _step(self, it: Deployment) -> None:
        live = [pod for pod in it.pods if not pod.leaving]
        replicas = [Replica(pod.name, pod.revision, pod.ready) for pod in live]
        step = next_step(replicas, it.revision, it.wanted, it.surge, it.unavailable)
        for pod in live:
            if pod.name in step.stop:
                pod.leave()
        for _ in range(step.start):
            self._begin(it, it.revision)

    def _step_job(self, it: Job) -> None:
        if it.succeeded:
            return
        if not it.pods:
            self._begin(it, "0")
        [*_, pod] = it.pods
        [name] = pod.containers
        seen = pod.seen(name)
        if seen is None or not seen.exited or pod.leaving:
            return
        pod.leave()
        it.succeeded = seen.exit_code == 0
        if not it.succeeded:
            if len(it.pods) > it.retries:
                raise RuntimeError(f"The Job {it.name} has failed {len(it.pods)} times.")
            self._begin(it, str(len(it.pods)))

    def _begin(self, owner: Any, revision: str) -> None:
        pod = Pod(self.node, owner.name, owner.template, revision)
        owner.pods.append(pod)
        pod.begin()
