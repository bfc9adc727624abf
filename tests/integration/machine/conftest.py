"""A machine for each test, on which nothing runs afterwards."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.testing.services.machine import Machine

IDLE_WITHIN = 30.0


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine that may be given anything to run; the test fails if some of it stays."""
    machine = Machine.new(tmp_path / "machine")
    yield machine
    machine.wait_until_idle(IDLE_WITHIN)


@pytest.fixture
def dags(machine: Machine) -> Path:
    """An empty folder for DAG files, which `standalone` takes unless it is told otherwise."""
    folder = machine.root / "dags"
    folder.mkdir()
    return folder
