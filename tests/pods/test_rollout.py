"""A rollout never has fewer ready pods than it may, nor more pods, and comes to its end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.pods.rollout import Replica, Step, next_step

ONE_BY_ONE = {"surge": 1, "unavailable": 0}


def replicas(*pods: str) -> list[Replica]:
    """Replicas from words such as `a:old:ready`."""
    parts = (pod.split(":") for pod in pods)
    return [Replica(name, revision, ready == "ready") for name, revision, ready in parts]


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        ([], Step(2, ())),
        (["a:new:not"], Step(1, ())),
        (["a:new:ready", "b:new:ready"], Step(0, ())),
        (["a:old:ready", "b:old:ready"], Step(1, ())),
        (["a:old:ready", "b:old:ready", "c:new:not"], Step(0, ())),
        (["a:old:ready", "b:old:ready", "c:new:ready"], Step(0, ("a",))),
        (["b:old:ready", "c:new:ready"], Step(1, ())),
        (["b:old:ready", "c:new:ready", "d:new:ready"], Step(0, ("b",))),
        (["a:old:not", "b:old:ready"], Step(1, ())),
        (["a:old:not", "b:old:ready", "c:new:not"], Step(0, ())),
        (["a:old:not", "b:old:ready", "c:new:ready"], Step(0, ("a",))),
        (["a:new:ready", "b:new:ready", "c:new:ready"], Step(0, ("c",))),
        (["a:new:ready", "b:new:not", "c:new:ready"], Step(0, ("b",))),
    ],
)
def test_pods_are_replaced_one_by_one(pods: list[str], expected: Step) -> None:
    assert next_step(replicas(*pods), "new", 2, **ONE_BY_ONE) == expected


def test_a_deployment_scales_to_nothing() -> None:
    assert next_step(replicas("a:new:ready"), "new", 0, **ONE_BY_ONE) == Step(0, ("a",))


@given(
    st.lists(st.booleans(), max_size=4),
    st.integers(1, 4),
    st.integers(0, 2),
    st.integers(0, 2),
)
def test_it_ends_with_what_is_wanted(
    ready: list[bool], wanted: int, surge: int, unavailable: int
) -> None:
    if surge == unavailable == 0:
        surge = 1  # Kubernetes refuses a Deployment that may do neither
    pods = [Replica(f"old-{n}", "old", is_ready) for n, is_ready in enumerate(ready)]
    for number in range(50):
        step = next_step(pods, "new", wanted, surge, unavailable)
        before = sum(replica.ready for replica in pods)
        pods = [replica for replica in pods if replica.name not in step.stop]
        after = sum(replica.ready for replica in pods)
        assert after >= min(before, wanted - unavailable)
        pods += [Replica(f"new-{number}-{n}", "new", False) for n in range(step.start)]
        assert step.start == 0 or len(pods) <= wanted + surge
        if step == Step(0, ()):
            pods = [Replica(replica.name, replica.revision, True) for replica in pods]
    assert len(pods) == wanted
    assert {replica.revision for replica in pods} == {"new"}
