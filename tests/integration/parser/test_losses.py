"""Children that are lost are no fault of their files."""

from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, text
from tests.integration.parser_machine import manager_of, until

from headway.db.reads import dag_file_views, dag_views
from headway.runtime.forker import Exit
from headway.testing.time.clock import FakeClock
from headway_parser import manager as managing
from headway_parser.parse.processor import DagFileProcessor

NAMES = ["a", "b", "c"]
LOST = Exit(lost="The system refused to start it: Resource temporarily unavailable.")


class Shortage:
    """While it lasts each child is lost at once."""

    def __init__(self) -> None:
        self.lasts = True
        self.lost: list[str] = []
        self._has_ended = DagFileProcessor.has_ended

    def has_ended(self, processor: DagFileProcessor) -> bool:
        if not self.lasts:
            return self._has_ended(processor)
        self.lost.append(processor.path)
        processor._exit = LOST
        return True

    def has_lost(self, children: int) -> bool:
        return len(self.lost) == children


@pytest.fixture
def shortage(monkeypatch: pytest.MonkeyPatch) -> Shortage:
    made = Shortage()

    def has_ended(processor: DagFileProcessor) -> bool:
        return made.has_ended(processor)

    monkeypatch.setattr(DagFileProcessor, "has_ended", has_ended)
    return made


@pytest.fixture
def dags(tmp_path: Path) -> Path:
    folder = tmp_path / "dags"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(f"from headway.sdk import DAG\nDAG({name!r})\n")
    return folder


def dag_ids(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        assert dag_file_views.errors(conn) == []
        return [row.dag_id for row in dag_views.dags(conn)]


def test_no_file_has_an_error_when_no_process_is_to_be_had_for_a_while(
    engine: Engine, dags: Path, shortage: Shortage
) -> None:
    clock = FakeClock()
    with manager_of(engine, dags) as manager:
        manager.clock = clock
        for tries in range(1, managing.MOST_TRIES + 1):
            until(manager, partial(shortage.has_lost, tries * len(NAMES)))
            for _ in range(10):
                manager.scan_requested.set()
                assert not manager.step(), "what waits keeps it from going to rest"
            assert sorted(shortage.lost) == sorted(f"{name}.py" for name in NAMES * tries)
            clock.advance(managing.FIRST_RETRY * 2 ** (tries - 1))

        shortage.lasts = False
        until(manager, lambda: dag_ids(engine) == NAMES)


def test_a_file_of_which_all_children_are_lost_has_an_error(
    engine: Engine, dags: Path, shortage: Shortage
) -> None:
    clock = FakeClock()
    with manager_of(engine, dags) as manager, engine.connect() as conn:
        manager.clock = clock

        def all_have_errors() -> bool:
            clock.advance(managing.FIRST_RETRY)
            conn.rollback()
            return len(dag_file_views.errors(conn)) == len(NAMES)

        until(manager, all_have_errors)
        assert len(shortage.lost) == (1 + managing.MOST_TRIES) * len(NAMES)


def test_what_waits_for_another_try_is_left_to_nobody_else(
    engine: Engine, dags: Path, shortage: Shortage
) -> None:
    claimed = text("SELECT count(*) FROM dag_file WHERE claimed")
    with manager_of(engine, dags) as manager, engine.connect() as conn:
        manager.clock = FakeClock()
        until(manager, partial(shortage.has_lost, len(NAMES)))
        assert conn.scalar(claimed) == len(NAMES)
    with engine.connect() as conn:
        assert conn.scalar(claimed) == 0
