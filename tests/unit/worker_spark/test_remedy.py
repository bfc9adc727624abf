"""What is done about an earlier attempt before the next one may use Spark."""

import pytest

from headway.db.spark_work import Earlier
from headway_worker.spark.earlier import Remedy, remedy

OWN = {"kind": "connect", "process": "boot-1/7/99"}
REMOTE = {"kind": "connect", "url": "sc://far:15002"}


@pytest.mark.parametrize(
    ("handle", "outcome", "worker_is_dead", "expected"),
    [
        (OWN, "failed", False, Remedy.NOTHING),
        (OWN, "failed", True, Remedy.NOTHING),
        (OWN, "lost", False, Remedy.NOTHING),
        (OWN, "lost", True, Remedy.KILL),
        (REMOTE, "failed", False, Remedy.RELEASE),
        (REMOTE, "lost", True, Remedy.RELEASE),
        ({"kind": "submit"}, "lost", True, Remedy.NOTHING),
    ],
)
def test_the_remedy(
    handle: dict[str, str], outcome: str, worker_is_dead: bool, expected: Remedy
) -> None:
    earlier = Earlier(
        1,
        outcome,
        handle,
        is_called_off=False,
        is_long_ago=False,
        worker_is_dead=worker_is_dead,
    )

    assert remedy(earlier) is expected
