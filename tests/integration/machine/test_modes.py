"""Who may look into what `standalone` and its services write."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from headway.testing.services.machine import Machine
from headway.testing.time.clock import until

pytestmark = pytest.mark.services

DAG = """
import pendulum

from headway.sdk import DAG, task

with DAG("says", schedule=None, start_date=pendulum.datetime(2024, 1, 1)):
    @task
    def hello():
        print("hello")
    hello()
"""

ENDED = text("SELECT count(*) FROM dag_run WHERE state = 'success'")


@pytest.fixture
def no_mask() -> Iterator[None]:
    """An account whose mask bars nobody."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.regression
@pytest.mark.usefixtures("no_mask")
def test_a_new_home_and_its_logs_are_one_accounts_alone(tmp_path: Path) -> None:
    """Others may pass through the home of root, whose parser becomes another account."""
    machine, dags = Machine.new(tmp_path / "machine"), tmp_path / "dags"
    dags.mkdir()
    (dags / "says.py").write_text(DAG)
    with machine.standalone(dags, new=True) as (_, engine):
        until(lambda: machine.run("dags", "trigger", "says").returncode == 0, "a run")

        def ended() -> bool:
            with engine.connect() as conn:
                return bool(conn.scalar(ENDED))

        until(ended, "the end of the run")
        home = machine.home
        modes = {path.relative_to(home).as_posix(): mode(path) for path in home.rglob("*")}

    assert mode(home) == (0o711 if os.geteuid() == 0 else 0o700)
    folders = ("logs", "services", "spark", "postgres")
    assert {name: modes[name] for name in folders} == dict.fromkeys(folders, 0o700)
    files = ("database-url", "secret-keys")
    assert {name: modes[name] for name in files} == dict.fromkeys(files, 0o600)
    logs = {name: mode for name, mode in modes.items() if name.endswith(".log")}
    assert len([name for name in logs if name.startswith("logs/")]) == 1
    assert set(logs.values()) == {0o600}
