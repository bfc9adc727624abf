"""Nothing is lost and nothing doubled where clocks are changed: a sample of all zones.

`make bench NAME=zones` tries them all.  The sample is another one each time; TEST_ZONES_SEED
has the one tried again whose seed was printed.
"""

import os
import sys
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from secrets import randbits

import pytest

from headway.testing.time import clock_changes
from headway.testing.time.clock_changes import CRONS, Policy, Window, problems, windows, zones
from headway.timetables.base import TimeRestriction
from headway.timetables.kinds.cron import CronTimetable
from headway.timetables.sequence import runs_from
from headway.timetables.wall_clock.ticks import Ticks, ticks_of

SEED = int(os.environ.get("TEST_ZONES_SEED") or randbits(32))
ALWAYS = ("Australia/Lord_Howe", "America/Havana", "America/St_Johns", "Pacific/Apia")
"""A change of half an hour, two at and over midnight, and one of a day."""


def sample() -> list[Window]:
    """Four zones that are unlike any other, and one change in each of 24 more."""
    chance = Random(SEED)
    changed = filter(None, map(windows, chance.sample(zones(), 40)))
    some = [chance.choice(found) for found, _ in zip(changed, range(24), strict=False)]
    return some + [window for zone in ALWAYS for window in windows(zone)[-4:]]


def test_cron_strings_around_changes_of_clocks(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = sample()
    wrong = [told for window in chosen for cron in CRONS for told in problems(cron, window)]
    with capsys.disabled():
        sys.stdout.write(f"[seed {SEED}: {len(chosen) * len(CRONS)} cases]")

    assert wrong == [], f"TEST_ZONES_SEED={SEED}"
    assert len(chosen) >= 30


@pytest.mark.parametrize("cron", CRONS)
def test_a_tick_that_is_lost_is_noticed(cron: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Lossy(Ticks):
        def after(self, instant):  # type: ignore[no-untyped-def]
            return super().after(super().after(instant))

    monkeypatch.setattr(
        clock_changes, "ticks_of", lambda *it: Lossy((t := ticks_of(*it)).pattern, t.zone)
    )
    found = list(problems(cron, windows("America/New_York")[-1]))

    assert any("expected" in told for told in found)
    assert any("cronsim has" in told for told in found) is (CRONS[cron] is Policy.FIXED)
    assert any("the way back is another one" in told for told in found)


@pytest.mark.regression
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("*/30,5 1 * * *", "5,*/30 1 * * *"),
        ("15 0,*/12 * * *", "15 */12,0 * * *"),
        ("5 1,* * * *", "5 *,1 * * *"),
    ],
)
def test_the_order_of_a_list_changes_nothing_in_a_fold(one: str, other: str) -> None:
    """Of `*/30,5` the minutes come in both of the hours that the clocks show twice."""
    zone = "America/New_York"
    bounds = TimeRestriction(datetime.fromisoformat("2026-11-01T04:00Z"), None, catchup=True)
    assert bounds.earliest is not None
    first, second = (
        [
            info.run_after
            for info in islice(runs_from(CronTimetable(cron, zone), bounds, bounds.earliest), 12)
        ]
        for cron in (one, other)
    )

    assert first == second


@pytest.mark.regression
def test_a_step_of_one_is_a_star_in_a_fold() -> None:
    bounds = TimeRestriction(datetime.fromisoformat("2026-11-01T05:00Z"), None, catchup=True)
    assert bounds.earliest is not None
    for cron in ("*/1 1 * * *", "* 1 * * *", "0,*/1 1 * * *"):
        timetable = CronTimetable(cron, "America/New_York")
        runs = islice(runs_from(timetable, bounds, bounds.earliest), 120)
        assert [info.run_after for info in runs] == [
            bounds.earliest + timedelta(minutes=minute) for minute in range(120)
        ]
