"""Secrets that tasks give to UDFs through the real worker: no log and no error has them."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import pytest
from sqlalchemy import Engine

from headway.db.access.grants_matrix import UNREAD
from headway.db.schema import METADATA
from headway.testing.data.known import known
from headway.testing.database import rows
from headway.testing.services.machine import Machine
from headway.testing.services.stack import Stack
from headway.testing.services.stack_run import StackRun
from headway.testing.time.clock import until

pytestmark = [pytest.mark.services, pytest.mark.spark, pytest.mark.long]
pytest.importorskip("pyspark")

DAGS = Path(__file__).parent / "dags" / "spark_secrets"
CANARY = f"canary-{token_hex(4)}"
LONG = 180.0


@dataclass(frozen=True)
class Scene:
    """A run that has ended, in services that go on."""

    machine: Machine
    engine: Engine
    run: StackRun

    def server_log(self) -> str:
        (log,) = self.machine.home.glob("spark/*/*/server.log")
        return log.read_text()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    given = {"HEADWAY_CONN_SHOP": f"http://me:{CANARY}@host"}
    machine = Machine.new(tmp_path_factory.mktemp("secrets"), given)
    with machine.standalone(DAGS) as (standalone, engine):
        stack = Stack(machine.home, DAGS, machine.environment, engine, standalone.process)
        stack.wait_for_version("leaks")
        stack.grant("shop")
        run = stack.trigger("leaks")
        until(lambda: run.row.ended_at, "the end of the run", LONG)
        yield Scene(machine, engine, run)


def test_the_log_of_the_server_has_what_udfs_say_but_no_secret(scene: Scene) -> None:
    assert scene.run.states() == {"prints": "success", "raises": "failed"}
    until(lambda: "the end of print" in scene.server_log(), "what was printed")
    until(lambda: "the end of raise" in scene.server_log(), "what was raised")

    assert "printed ***, the end of print" in scene.server_log()
    assert "raised ***, the end of raise" in scene.server_log()
    assert CANARY not in scene.server_log()


def test_nothing_else_that_is_kept_has_it(scene: Scene) -> None:
    assert "raised ***, the end of raise" in known(scene.run.attempt("raises").error)
    kept = {
        str(file): file.read_text(errors="replace")
        for folder in ("services", "logs")
        for file in (scene.machine.home / folder).rglob("*")
        if file.is_file()
    }
    with scene.engine.connect() as conn:
        for table in set(METADATA.tables) - UNREAD:
            kept[table] = rows.as_text(conn, table)

    assert len(kept) > 20
    assert [name for name, content in kept.items() if CANARY in content] == []
