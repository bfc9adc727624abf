"""Probes of pods of tests mean what they mean to the kubelet."""

from tests.pods.probes import Health

CONTAINER = {
    "startupProbe": {"periodSeconds": 5, "failureThreshold": 3},
    "livenessProbe": {"periodSeconds": 10, "failureThreshold": 2},
    "readinessProbe": {"periodSeconds": 10, "failureThreshold": 2},
}


def answer(health: Health, kind: str, good: bool, now: float) -> None:
    """Give the answer to a probe, which must be due."""
    [probe] = [due for due in health.due(now) if due.kind == kind]
    health.note(probe, good, now)


def started() -> Health:
    """The health of a container that has started at 0."""
    health = Health(CONTAINER, 0)
    answer(health, "startupProbe", True, 0)
    return health


def test_nothing_else_is_asked_before_the_container_has_started() -> None:
    health = Health(CONTAINER, 0)

    assert [probe.kind for probe in health.due(0)] == ["startupProbe"]
    assert not health.ready


def test_each_probe_is_asked_again_after_its_period() -> None:
    health = started()
    answer(health, "livenessProbe", True, 0)

    assert [probe.kind for probe in health.due(9.9)] == ["readinessProbe"]
    assert [probe.kind for probe in health.due(10)] == ["livenessProbe", "readinessProbe"]


def test_a_container_that_does_not_start_is_restarted() -> None:
    health = Health(CONTAINER, 0)
    for now in (0, 5):
        answer(health, "startupProbe", False, now)
        assert not health.must_restart

    answer(health, "startupProbe", False, 10)

    assert health.must_restart == "startupProbe"


def test_failures_count_in_a_row_only() -> None:
    health = started()
    for now, good in ((0, False), (10, True), (20, False)):
        answer(health, "livenessProbe", good, now)
        assert health.must_restart != "livenessProbe"

    answer(health, "livenessProbe", False, 30)

    assert health.must_restart == "livenessProbe"


def test_it_is_ready_by_its_probe_and_stays_so_through_one_failure() -> None:
    health = started()
    assert not health.ready

    answer(health, "readinessProbe", True, 0)
    answer(health, "readinessProbe", False, 10)
    assert health.ready

    answer(health, "readinessProbe", False, 20)
    assert not health.ready
    assert not health.must_restart


def test_a_container_without_probes_is_ready() -> None:
    health = Health({}, 0)

    assert health.ready
    assert health.due(0) == []
