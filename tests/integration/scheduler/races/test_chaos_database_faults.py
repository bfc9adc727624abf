"""A fault of chaos that finds the database busy has missed, and chaos goes on."""

from pathlib import Path
from random import Random
from unittest.mock import MagicMock

import pytest
from sqlalchemy import Engine, create_engine, text
from tests.chaos.database_faults import DatabaseFaults
from tests.chaos.fault_series import FaultSeries, Timer
from tests.chaos.scene import Scene
from tests.chaos.services import Fleet

from headway.embedded.postgres import PostgresServer
from headway.testing.data import seed
from headway.testing.time.clock import FakeClock


@pytest.fixture
def series(database_url: str, tmp_path: Path) -> tuple[FaultSeries, FakeClock]:
    hasty = create_engine(database_url, connect_args={"options": "-c lock_timeout=50"})
    clock = FakeClock()
    scene = Scene(tmp_path, PostgresServer(tmp_path), hasty, Fleet(clock, []), {}, MagicMock(), {})
    faults = DatabaseFaults(scene, Timer(clock), Random(1))
    return FaultSeries(Timer(clock), Random(1), [("hold_lock", faults.hold_lock)]), clock


def drive(series: FaultSeries, clock: FakeClock) -> None:
    series.step()
    while series.busy:
        clock.advance(0.5)
        series.finish()


def test_a_lock_that_another_holds_is_missed(
    series: tuple[FaultSeries, FakeClock], engine: Engine
) -> None:
    seed.create_runs(engine, seed.store(engine, seed.dag()), [0])
    with engine.begin() as stopped:
        stopped.execute(text("LOCK TABLE task_instance IN ROW EXCLUSIVE MODE"))
        drive(*series)

    its, _ = series
    assert (its.done["hold_lock"], its.missed["hold_lock"]) == (0, 1)
