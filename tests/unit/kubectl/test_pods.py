"""Which release and which pod a command is about, by what kubectl lists."""

from typing import Any

import pytest

from headway.domain.errors import ClusterError, ConflictError, HeadwayError, NotFoundError
from headway.kubectl import pods
from headway.kubectl.pods import Deployment, Pod


def listed(name: str, service: str = "worker", ready: str = "True", **more: Any) -> dict[str, Any]:
    labels = {
        "app.kubernetes.io/instance": more.pop("release", "flows"),
        "app.kubernetes.io/component": service,
        "headway/database": "true",
    }
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, **more.pop("metadata", {})},
        "spec": {"nodeName": "n1", **more.pop("spec", {})},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": ready}],
            "containerStatuses": [{"restartCount": 2}, {"restartCount": 1}],
        },
    }


def pod(name: str, service: str = "worker", **more: Any) -> Pod:
    return Pod.of(listed(name, service, **more))


def test_a_pod_is_read_with_what_matters() -> None:
    found = pod("w-0")

    assert (found.release, found.service, found.hostname) == ("flows", "worker", "w-0")
    assert (found.phase, found.ready, found.restarts, found.node) == ("Running", True, 3, "n1")


def test_a_pod_that_leaves_is_not_ready() -> None:
    leaving = pod("w-0", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})

    assert (leaving.phase, leaving.ready) == ("Terminating", False)
    assert not pod("w-0", ready="False").ready


def test_a_pod_without_a_status_is_not_ready() -> None:
    found = listed("w-0")
    del found["status"]

    assert (Pod.of(found).phase, Pod.of(found).ready) == ("Unknown", False)


def test_a_host_name_has_63_letters_at_most() -> None:
    assert pod("w" * 70).hostname == "w" * 63
    assert pod("w-0", spec={"hostname": "own"}).hostname == "own"


def test_what_is_none_of_the_chart_is_left_out() -> None:
    other = listed("other")
    del other["metadata"]["labels"]["headway/database"]
    labels = {"app.kubernetes.io/instance": "flows", "app.kubernetes.io/part-of": "headway"}
    mine = {"name": "flows-worker", "labels": labels}
    made = {"kind": "Deployment", "metadata": mine, "spec": {"replicas": 2}}
    theirs = {**made, "metadata": {**mine, "labels": {"app.kubernetes.io/instance": "flows"}}}
    items = [listed("w-0"), other, made, theirs]

    assert [record.name for record in pods.pods(items)] == ["w-0"]
    assert pods.deployments(items) == [Deployment("flows-worker", "flows", 2, 0)]


@pytest.mark.parametrize(
    ("there", "wanted", "chosen"),
    [(["a", "a"], None, "a"), (["a", "b"], "b", "b"), (["a"], "a", "a")],
)
def test_the_release_is_the_wanted_or_the_only_one(
    there: list[str], wanted: str | None, chosen: str
) -> None:
    assert pods.choose(there, wanted, "here") == chosen


@pytest.mark.parametrize(
    ("there", "wanted", "kind", "said"),
    [
        ([], None, NotFoundError, "No release of Headway is in here. Name another by --namespace"),
        ([], "a", NotFoundError, "No release of Headway is in here."),
        (["b", "a"], None, ConflictError, "in here: there are a, b. Name one: --release"),
        (["b"], "a", NotFoundError, "No release a of Headway is in here; there is b."),
    ],
)
def test_what_is_wrong_with_releases_is_said(
    there: list[str], wanted: str | None, kind: type[HeadwayError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        pods.choose(there, wanted, "here")


def test_commands_run_in_a_scheduler_that_is_ready() -> None:
    away, ready = pod("s-0", "scheduler", ready="False"), pod("s-1", "scheduler")

    assert pods.scheduler([pod("w-0"), away, ready]) == ready
    with pytest.raises(ClusterError, match=r"No pod of a scheduler is ready: s-0 \(Running\)"):
        pods.scheduler([pod("w-0"), away])
    with pytest.raises(ClusterError, match="ready: there is none"):
        pods.scheduler([pod("w-0")])


def test_only_a_worker_drains() -> None:
    there = [pod("w-0"), pod("p-0", "parser")]

    assert pods.worker(there, "w-0") == there[0]
    with pytest.raises(ConflictError, match="p-0 is the pod of a parser"):
        pods.worker(there, "p-0")
    with pytest.raises(NotFoundError, match="no pod w-1; its workers' pods: w-0"):
        pods.worker(there, "w-1")


def test_a_log_is_read_in_its_workers_pod_or_else_in_any() -> None:
    own, other = pod("w-0", ready="False"), pod("w-1")

    assert pods.with_logs([other, own], "w-0") == own
    assert pods.with_logs([own, other], "gone") == other
    assert pods.with_logs([pod("p-0", "parser"), other], "p-0") == other
    with pytest.raises(ClusterError, match="No pod of a worker is ready"):
        pods.with_logs([own], "gone")
