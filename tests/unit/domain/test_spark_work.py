"""Which application may go on without its attempt, and what it is called."""

import pytest

from headway.domain.spark_work import outliving

APP = {"mode": "cluster", "application_id": "app-1"}


@pytest.mark.parametrize(
    ("handle", "left"),
    [
        (APP, "application app-1"),
        ({"mode": "cluster", "submission_id": "driver-1"}, "application driver-1"),
        ({"mode": "cluster", "tag": "headway-1"}, "application headway-1"),
        (APP | {"ended": "FINISHED"}, None),
        (APP | {"refused": "no such queue"}, None),
        (APP | {"mode": "client"}, None),
        (None, None),
    ],
)
def test_what_runs_on_a_cluster_outlives_its_attempt_until_it_has_ended(
    handle: object, left: str | None
) -> None:
    assert outliving(handle) == left
