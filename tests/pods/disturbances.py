"""What happens to a release while DAGs run: it is upgraded, rolled, scaled, killed and cut off."""

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from tests.pods.kubelet import Pod
from tests.pods.release import PARSER, PLAIN, SCHEDULER, SPARK, Release

from headway.testing.machine import until

if TYPE_CHECKING:
    from tests.pods.play import Options, Stage

CUT_FOR: Final = 30.0
"""Seconds."""

_AGAIN_WITHIN: Final = 120.0
_KILLED: Final = ((SCHEDULER, "scheduler"), (PLAIN, "worker"), (PLAIN, "forker"))
_KILLED_BESIDES: Final = ((SPARK, "worker"), (SPARK, "forker"), (PARSER, "parser"))
_RULES: Final = (("INPUT", "-i"), ("OUTPUT", "-o"))


class Disturbances:
    """Each waits until everything is as it is wanted again, and counts itself as done."""

    def __init__(self, stage: "Stage", options: "Options") -> None:
        self._stage, self._options = stage, options
        self._short = options.short
        self.done: Counter[str] = Counter()

    def upgrade(self, to: Release) -> None:
        """Upgrade to another release."""
        self._stage.cluster.apply(to.objects(self._stage.root, self._options.spark_workers))
        self._settle("helm upgrade")

    def rest(self) -> None:
        """Do all the others, one after the other."""
        if not self._short:
            for name in (SCHEDULER, PARSER, PLAIN, SPARK):
                self._stage.cluster.restart(name)
                self._settle(f"roll {name}")
        for wanted in (4, 1, 2):
            self._stage.cluster.scale(SCHEDULER, wanted)
            self._settle(f"scale schedulers to {wanted}")
        for name, container in _KILLED if self._short else (*_KILLED, *_KILLED_BESIDES):
            self._kill(name, container)
        for name in (PLAIN,) if self._short else (PLAIN, SCHEDULER, SPARK):
            self._cut(name)

    def _kill(self, name: str, container: str) -> None:
        pod = self._stage.cluster.pods(name)[0]
        before = pod.restarts[container]
        until(lambda: pod.kill(container), f"a container {container} to kill")
        what = f"kill {container} of {name}"
        until(lambda: pod.restarts[container] > before, f"{what}: its restart", _AGAIN_WITHIN)
        self._settle(what)

    def _cut(self, name: str) -> None:
        """Drop every packet from and to a pod for a while, so that nobody is told."""
        pod = self._stage.cluster.pods(name)[0]
        pod.harm()
        self._filter(pod, "--append")
        time.sleep(CUT_FOR)
        self._filter(pod, "--delete")
        self._settle(f"cut off {name} for {CUT_FOR:g} s")

    def _filter(self, pod: Pod, action: str) -> None:
        [container, *_] = pod.containers
        seen = pod.seen(container)
        assert seen is not None
        for chain, interface in _RULES:
            rule = (action, chain, interface, "eth0", "--jump", "DROP")
            self._stage.cluster.node.in_network_of(seen.pid, "iptables", *rule)

    def _settle(self, what: str) -> None:
        self._stage.settle(what)
        self.done[what] += 1
