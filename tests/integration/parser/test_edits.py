"""No edit of a DAG file is missed, whenever it comes."""

from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event, text
from tests.integration.parser_machine import CLOCK, manager_of, until

from headway.db.reads import dag_views
from headway.testing.time.clock import FakeClock
from headway_parser.discover.bundle_scan import BundleScan
from headway_parser.parse.jobs import Job

HANGS = "import time\ntime.sleep(3600)\n"


def dag_ids(engine: Engine) -> list[str]:
    with engine.connect() as conn:
        return [row.dag_id for row in dag_views.dags(conn)]


def write(file: Path, dag_id: str, more: str = "") -> None:
    file.write_text(f"from headway.sdk import DAG\nDAG({dag_id!r})\n{more}")


def test_an_edit_while_the_file_s_dags_are_committed_is_seen(
    engine: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "dags" / "edited.py"
    file.parent.mkdir()
    write(file, "before")

    @event.listens_for(engine, "commit")
    def edit(conn: Connection) -> None:
        if dag_views.dag(conn, "before") and "before" in file.read_text():
            write(file, "edited_afterwards")

    with manager_of(engine, file.parent) as manager:
        until(manager, lambda: dag_ids(engine) == ["edited_afterwards"])


def test_an_edit_after_a_slow_file_was_read_is_seen_as_soon_as_that_is_parsed(
    engine: Engine, tmp_path: Path
) -> None:
    """No listing follows for an hour; the one during the parse has seen the edit."""
    file = tmp_path / "dags" / "slow.py"
    file.parent.mkdir()
    write(file, "before", "import time\ntime.sleep(1)\n")

    with manager_of(engine, file.parent, dag_dir_list_interval=3600) as manager:
        until(manager, lambda: bool(manager.parsing.running))
        write(file, "after")
        manager.scan_requested.set()
        until(manager, lambda: dag_ids(engine) == ["after"])


def test_an_edit_of_a_module_beside_it_is_an_edit_of_the_file(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "dags" / "lib").mkdir(parents=True)
    module = tmp_path / "dags" / "lib" / "names.py"
    module.write_text("NAME = 'before'\n")
    write(tmp_path / "dags" / "d.py", "x", "from lib.names import NAME\nDAG(NAME)\n")

    with manager_of(engine, tmp_path / "dags") as manager:
        until(manager, lambda: dag_ids(engine) == ["before", "x"])
        module.write_text("NAME = 'after'\n")
        until(manager, lambda: dag_ids(engine) == ["after", "x"])


def test_a_file_that_has_not_changed_is_not_parsed_again(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    write(tmp_path / "dags" / "d.py", "d")
    parsed_at = text("SELECT parsed_at FROM dag_file")
    with manager_of(engine, tmp_path / "dags") as manager:
        until(manager, lambda: dag_ids(engine) == ["d"])
        with engine.connect() as conn:
            before = conn.scalar(parsed_at)
        for _ in range(50):
            manager.scan_requested.set()
            assert not manager.step()
    with manager_of(engine, tmp_path / "dags") as manager, engine.connect() as conn:
        assert not manager.step()
        assert conn.scalar(parsed_at) == before


def test_a_bundle_in_which_something_happens_all_the_time_is_looked_at_now_and_then(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dags").mkdir()
    write(tmp_path / "dags" / "d.py", "d")
    clock, looks, take = FakeClock(), list[float](), BundleScan.take

    def slow(scan: BundleScan) -> tuple[list[Job], frozenset[int]]:
        looks.append(clock.monotonic())
        clock.advance(0.25)
        return take(scan)

    with manager_of(engine, tmp_path / "dags", dag_dir_list_interval=20) as manager:
        until(manager, lambda: dag_ids(engine) == ["d"])
        monkeypatch.setattr(BundleScan, "take", slow)
        manager.clock = clock
        clock.advance(CLOCK.monotonic() + 60)  # all is quiet
        looked_at = clock.monotonic()
        for _ in range(40):
            manager.scan_requested.set()
            manager.step()
            clock.advance(0.125)
        assert [look - looked_at for look in looks] == [0, 1.5, 3, 4.5]


def test_a_slow_look_puts_off_none_of_the_listings(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dags").mkdir()
    clock, looks, take = FakeClock(), list[float](), BundleScan.take

    def slow(scan: BundleScan) -> tuple[list[Job], frozenset[int]]:
        looks.append(clock.monotonic())
        clock.advance(4)
        return take(scan)

    monkeypatch.setattr(BundleScan, "take", slow)
    with manager_of(engine, tmp_path / "dags", dag_dir_list_interval=1) as manager:
        manager.clock = clock
        for _ in range(4):
            manager.scan_requested.set()
            manager.step()
            clock.advance(1)
        assert looks == [0, 5, 10, 15]


def test_a_file_that_is_asked_for_is_parsed_though_it_has_not_changed(
    engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "dags").mkdir()
    write(tmp_path / "dags" / "d.py", "d")
    parsed_at = text("SELECT parsed_at FROM dag_file")
    with manager_of(engine, tmp_path / "dags") as manager:
        until(manager, lambda: dag_ids(engine) == ["d"])
        with engine.begin() as conn:
            before = conn.scalar(parsed_at)
            conn.execute(text("UPDATE dag_file SET parse_requested = true"))

        def again() -> bool:
            with engine.connect() as conn:
                return bool(conn.scalar(parsed_at) != before)

        until(manager, again)


def test_files_that_hang_in_every_place_hold_up_no_other(engine: Engine, tmp_path: Path) -> None:
    folder = tmp_path / "dags"
    folder.mkdir()
    for name in ("a", "b"):
        write(folder / f"{name}_slow.py", name, HANGS)

    with manager_of(engine, folder, parsing_processes=2) as manager:
        until(manager, lambda: len(manager.parsing.running) == 2)
        write(folder / "c.py", "c")
        until(manager, lambda: dag_ids(engine) == ["c"])
        assert len(manager.parsing.running) == 2


def test_files_that_wait_behind_slow_ones_are_left_to_other_parsers(
    engine: Engine, tmp_path: Path
) -> None:
    folder = tmp_path / "dags"
    folder.mkdir()
    slow = ["a_slow", "b_slow", "c_slow", "d_slow"]
    for name in slow:
        write(folder / f"{name}.py", name, HANGS)
    for name in ("e", "f"):
        write(folder / f"{name}.py", name)

    claimed = text("SELECT relative_path FROM dag_file WHERE claimed ORDER BY 1")
    with manager_of(engine, folder, file_parsing_sort_mode="alphabetical") as manager:

        def only_slow_ones_are_claimed() -> bool:
            with engine.connect() as conn:
                return list(conn.scalars(claimed)) == [f"{name}.py" for name in slow]

        until(manager, lambda: len(manager.parsing.running) == 4)
        assert not only_slow_ones_are_claimed()
        until(manager, only_slow_ones_are_claimed)
        with manager_of(engine, folder) as other:
            until(other, lambda: dag_ids(engine) == ["e", "f"])
    with engine.connect() as conn:
        assert list(conn.scalars(claimed)) == []


def test_what_is_to_be_parsed_twice_is_not_left_to_others_in_between(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files have just been claimed for too long, and each differs each time."""
    monkeypatch.setattr("headway_parser.manager.LONGEST_CLAIM", 0.0)
    folder = tmp_path / "dags"
    folder.mkdir()
    names = [f"d{number}" for number in range(6)]
    for name in names:
        more = f"import random\nDAG('x_{name}', tags=[str(random.random())])\n"
        write(folder / f"{name}.py", name, more)

    flapping = text("SELECT count(*) FROM dag_file WHERE warning IS NOT NULL")
    with manager_of(engine, folder) as manager, engine.connect() as conn:
        until(manager, lambda: len(dag_ids(engine)) == 2 * len(names))
        with engine.begin() as other:
            other.execute(text("UPDATE dag_file SET parse_requested = true"))
        conn.rollback()

        def all_flap() -> bool:
            conn.rollback()
            return bool(conn.scalar(flapping) == len(names))

        until(manager, all_flap)
