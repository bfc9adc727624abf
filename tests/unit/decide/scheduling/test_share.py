import pytest

from headway.decide.scheduling.admit import Budget, Limit, ReadyTask
from headway.decide.scheduling.share import BackfillShare, slots_for, spent


@pytest.mark.parametrize(
    ("share", "slots"),
    [
        (BackfillShare(8, 100), 8),
        (BackfillShare(8, 25), 2),
        (BackfillShare(8, 25, held=1), 1),
        (BackfillShare(8, 25, held=3), -1),
        (BackfillShare(8, 1), 1),
        (BackfillShare(8, 25, first=3), 3),
        (BackfillShare(8, 50, first=3), 4),
        (BackfillShare(8, 25, held=1, first=3), 1),
        (BackfillShare(8, 25, held=2, first=3), 0),
        (BackfillShare(8, 25, first=9), 8),
        (BackfillShare(8, 25, first=3, outsized=True), 0),
        (BackfillShare(0, 100), 0),
        (BackfillShare(0, 1), 0),
        (BackfillShare(8, 100, outsized=True), 0),
        (BackfillShare(8, 100, waits=True), 8),
        (BackfillShare(8, 100, idle_only=True), 8),
        (BackfillShare(8, 100, idle_only=True, waits=True), 0),
    ],
)
def test_the_share_of_a_pool(share: BackfillShare, slots: int) -> None:
    assert slots_for(share) == slots


def test_a_backfill_has_spent_its_share_when_none_of_its_tasks_fits_into_the_rest() -> None:
    def task(backfill: int | None, slots: int) -> ReadyTask:
        priority_class = 0 if backfill is None else 1
        return ReadyTask(1, "d", 1, "t", "p", slots, "q", 0.0, priority_class, backfill)

    free = {
        Budget(Limit.BACKFILL, ("p", number)): left for number, left in ((1, 2), (2, 2), (3, 0))
    }

    assert spent([task(1, 3), task(2, 3), task(2, 2), task(3, 1), task(None, 9)], free) == {1, 3}
