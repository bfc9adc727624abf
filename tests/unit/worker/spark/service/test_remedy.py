"""What is done about an earlier attempt before the next one may use Spark."""

import pytest

from headway.db.execution.spark_work import PriorAttempt
from headway_worker.spark.service.prior_apps import PriorAppRemedy, remedy

OWN = {"kind": "connect", "process": "boot-1/7/99"}
REMOTE = {"kind": "connect", "url": "sc://far:15002"}


@pytest.mark.parametrize(
    ("handle", "outcome", "worker_is_dead", "expected"),
    [
        (OWN, "failed", False, PriorAppRemedy.NOTHING),
        (OWN, "failed", True, PriorAppRemedy.NOTHING),
        (OWN, "lost", False, PriorAppRemedy.NOTHING),
        (OWN, "lost", True, PriorAppRemedy.KILL),
        (REMOTE, "failed", False, PriorAppRemedy.RELEASE),
        (REMOTE, "lost", True, PriorAppRemedy.RELEASE),
        ({"kind": "submit"}, "lost", True, PriorAppRemedy.NOTHING),
    ],
)
def test_the_remedy(
    handle: dict[str, str], outcome: str, worker_is_dead: bool, expected: PriorAppRemedy
) -> None:
    attempt = PriorAttempt(
        1,
        outcome,
        handle,
        is_called_off=False,
        is_long_ago=False,
        worker_is_dead=worker_is_dead,
    )

    assert remedy(attempt) is expected
