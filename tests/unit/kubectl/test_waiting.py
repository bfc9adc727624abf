"""What `kubectl headway` waits for: the next attempt of a task, the end of a worker's tasks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from headway.domain.errors import NotFoundError
from headway.kubectl import drain, logs
from headway.kubectl.kubectl import Kubectl
from headway.kubectl.logs import WantedLog
from headway.kubectl.pods import Pod
from headway.kubectl.release import Release
from headway.testing.time.clock import FakeClock

TASK = WantedLog("etl", "r1", "work", -1, None)


def pod(name: str, service: str = "worker") -> Pod:
    return Pod(name, "flows", service, None, name, "Running", True, 0, None)


PODS = [pod("s-0", "scheduler"), pod("w-0"), pod("w-1")]


@dataclass(frozen=True)
class Scripted(Kubectl):
    """Answers what a test has written down, one after the other, and notes what it runs."""

    answers: list[Any] = field(default_factory=list)
    ran: list[tuple[str, ...]] = field(default_factory=list)
    status: int = 0

    def ask(self, pod: Pod, *arguments: str, user: str | None = None) -> Any:
        assert pod.service == "scheduler"
        return self.answers.pop(0)

    def headway(self, pod: Pod, *arguments: str, user: str | None = None) -> int:
        self.ran.append((pod.name, *arguments))
        return self.status


@pytest.fixture(autouse=True)
def _same_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "find", lambda kubectl, name: Release(kubectl, name, PODS))


def task(state: str, *workers: str | None) -> list[dict[str, Any]]:
    """The answer of `tasks list`: a task whose attempts these workers have started."""
    attempts = [
        {"attempt": n, "worker": worker, "started_at": worker and "2026-01-01T00:00:00Z"}
        for n, worker in enumerate(workers, start=1)
    ]
    return [{"task_id": "work", "map_index": -1, "state": state, "attempts": attempts}]


def follow(answers: Sequence[Any], wanted: WantedLog = TASK, status: int = 0) -> Iterator[Any]:
    kubectl, clock = Scripted(answers=list(answers), status=status), FakeClock()
    yield logs.follow(Release(kubectl, "flows", PODS), wanted, (), clock)
    assert kubectl.answers == []
    yield [(where, words[words.index("--attempt") + 1]) for where, *words in kubectl.ran]
    yield clock.monotonic()


def test_each_attempt_is_followed_in_the_pod_of_its_worker() -> None:
    status, read, waited = follow(
        [
            task("queued", None),
            task("running", "w-0"),
            task("up_for_retry", "w-0"),
            task("running", "w-0", "w-1"),
            task("success", "w-0", "w-1"),
        ]
    )

    assert (status, read) == (0, [("w-0", "1"), ("w-1", "2")])
    assert waited == 2 * logs.PAUSE


def test_earlier_attempts_are_not_followed() -> None:
    _, read, _ = follow(
        [task("running", "w-0", "w-1"), task("failed", "w-0", "w-1")],
    )

    assert read == [("w-1", "2")]


def test_one_attempt_is_followed_to_its_end_alone() -> None:
    wanted = WantedLog("etl", "r1", "work", -1, 2)

    _, read, _ = follow([task("running", "w-0"), task("running", "w-0", "w-1")], wanted)

    assert read == [("w-1", "2")]


def test_following_ends_when_a_log_cannot_be_read() -> None:
    status, read, _ = follow([task("running", "w-0")], status=6)

    assert (status, read) == (6, [("w-0", "1")])


def test_a_task_that_the_run_has_not_is_told_with_those_that_it_has() -> None:
    kubectl = Scripted(answers=[task("running")])

    with pytest.raises(NotFoundError, match="no instance -1 of task 'load'; its tasks: work"):
        logs.show(Release(kubectl, "flows", PODS), WantedLog("etl", "r1", "load", -1, None), ())


def test_without_an_attempt_there_is_no_log() -> None:
    kubectl = Scripted(answers=[task("queued", None)])

    with pytest.raises(NotFoundError, match="No attempt of task 'work' has started"):
        logs.show(Release(kubectl, "flows", PODS), TASK, ())


def workers(*running: int) -> list[dict[str, Any]]:
    return [{"id": n, "hostname": f"w-{n}", "running": left} for n, left in enumerate(running)]


def test_a_drained_worker_is_waited_for_and_others_are_not() -> None:
    told: list[int] = []
    kubectl = Scripted(answers=[workers(2, 9), workers(2, 9), workers(1, 9), workers(0, 9)])

    drain.finish(Release(kubectl, "flows", PODS), [0], FakeClock(), told.append)

    assert told == [2, 1]
    assert kubectl.answers == []


def test_a_drained_worker_that_has_ended_has_nothing_left() -> None:
    kubectl = Scripted(answers=[workers(0)])

    drain.finish(Release(kubectl, "flows", PODS), [7], FakeClock(), lambda _: pytest.fail("left"))


def test_a_pod_whose_worker_is_not_registered_is_told() -> None:
    kubectl = Scripted(answers=[workers(0)])

    with pytest.raises(NotFoundError, match="No worker is registered from w-1"):
        drain.drain(Release(kubectl, "flows", PODS), "w-1", None)
