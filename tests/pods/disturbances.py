"""What happens to a release while DAGs run: it is upgraded, rolled, scaled, killed and cut off."""

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from sqlalchemy import text
from tests.pods.release import PARSER, PLAIN, SCHEDULER, SPARK, Release

from headway.testing.time.clock import until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pods.play import Options, Stage

CUT_FOR: Final = 30.0
"""Seconds."""

_SILENCE: Final = text("""
    SELECT extract(epoch FROM clock_timestamp() - max(beat.beat_at))
      FROM process_beat AS beat JOIN process ON process.id = beat.process_id
     WHERE process.hostname = :pod
""")
_LOST: Final = text("SELECT count(*) FROM task_attempt WHERE outcome = 'lost'")
_AGAIN_WITHIN: Final = 120.0
_KILLED: Final = ((SCHEDULER, "scheduler"), (PLAIN, "worker"), (PLAIN, "forker"))
_KILLED_BESIDES: Final = ((SPARK, "worker"), (SPARK, "forker"), (PARSER, "parser"))


class Disturbances:
    """Each waits until everything is as it is wanted again and tasks are begun, and is counted."""

    def __init__(self, stage: "Stage", options: "Options") -> None:
        self._stage, self._options = stage, options
        self.done: Counter[str] = Counter()

    def upgrade(self, to: Release) -> None:
        """Upgrade to another release."""
        with self._graceful("helm upgrade"):
            self._stage.cluster.apply(to.objects(self._stage.root, self._options.spark_workers))

    def all_others(self) -> None:
        """Do all the others, one after the other."""
        short = self._options.short
        for name in () if short else (SCHEDULER, PARSER, PLAIN, SPARK):
            with self._graceful(f"roll {name}"):
                self._stage.cluster.restart(name)
        for wanted in (4, 1, 2):
            with self._graceful(f"scale schedulers to {wanted}"):
                self._stage.cluster.scale(SCHEDULER, wanted)
        for name, container in _KILLED if short else (*_KILLED, *_KILLED_BESIDES):
            self._kill(name, container)
        for name in (PLAIN,) if short else (PLAIN, SCHEDULER, SPARK):
            self._cut(name)

    @contextmanager
    def _graceful(self, what: str) -> "Iterator[None]":
        """Let the block want something that must cost no attempt."""
        before = self._stage.scalar(_LOST)
        yield
        self._settle(what)
        if lost := self._stage.scalar(_LOST) - before:
            self._stage.violations.append(f"{what}: {lost} attempts were lost")

    def _kill(self, name: str, container: str) -> None:
        what = f"kill {container} of {name}"
        pod = self._stage.cluster.pods(name)[0]
        before = pod.restarts[container]
        until(lambda: pod.kill(container), f"a container {container} to kill")
        until(lambda: pod.restarts[container] > before, f"{what}: its restart", _AGAIN_WITHIN)
        self._settle(what)

    def _cut(self, name: str) -> None:
        what = f"cut off {name} for {CUT_FOR:g} s"
        pod = self._stage.cluster.pods(name)[0]
        infra = pod.seen("infra")
        assert infra is not None
        pod.excuse(CUT_FOR)
        with self._stage.cluster.node.cut_off(infra.pid):
            reached = pod.answers()
            self._stage.rest(CUT_FOR)
            silence = self._stage.scalar(_SILENCE, pod=pod.name)
        if reached or silence < CUT_FOR / 2 or pod.seen("infra") != infra:
            self._stage.violations.append(f"{what}: the pod was not cut off")
        self._settle(what)

    def _settle(self, what: str) -> None:
        self._stage.settle(what)
        self.done[what] += 1
