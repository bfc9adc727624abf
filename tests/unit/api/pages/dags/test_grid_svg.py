"""The grid as rows of paths."""

from datetime import UTC, datetime, timedelta

from headway.actions.dags.outlines import DagOutline
from headway.decide.charts.grid import CODED, MAPPED, RETRIED
from headway.domain.dag.task_groups import GroupSpec
from headway.domain.states import RunState, RunType, TaskState
from headway_api.native.dags.grid import GridColumn, GridHeader, GridTask
from headway_api.pages.dags.grid_rows import grid_sheet
from headway_api.pages.dags.grid_svg import CELL, ROWS, DrawnGrid
from headway_api.pages.dags.grid_svg import drawn as drawn_sheet

_START = datetime(2024, 1, 1, tzinfo=UTC)
_SUCCESS, _FAILED = CODED.index(TaskState.SUCCESS) + 1, CODED.index(TaskState.FAILED) + 1


def _header(versions: list[int], minutes: list[int | None], tasks: list[str]) -> GridHeader:
    columns = [
        GridColumn(
            run_id=f"run {nth}",
            run_type=RunType.SCHEDULED,
            state=RunState.SUCCESS,
            logical_date=_START,
            started_at=_START,
            ended_at=None if length is None else _START + timedelta(minutes=length),
            version=version,
            backfill_id=None,
        )
        for nth, (version, length) in enumerate(zip(versions, minutes, strict=True))
    ]
    return GridHeader(
        dag_id="d",
        rows=[GridTask(task_id=task_id, mapped=False) for task_id in tasks],
        columns=columns,
        mapped=[],
        states=[None, *CODED],
        retried=RETRIED,
        several=MAPPED,
        next_cursor=None,
    )


def drawn(header: GridHeader, cells: bytes, part: str = "") -> DrawnGrid:
    return drawn_sheet(grid_sheet(header, cells, part))


def test_the_oldest_run_is_on_the_left_and_states_are_paths() -> None:
    header = _header([1, 1], [1, 1], ["a", "b"])
    cells = bytes([_SUCCESS, _FAILED | RETRIED, _SUCCESS, 0])  # the newest run comes first

    grid = drawn(header, cells)

    assert [column.run.run_id for column in grid.columns] == ["run 1", "run 0"]
    a, b = grid.rows
    assert [(path.state, path.count) for path in a.paths] == [("success", 2)]
    assert a.retried == ""
    assert [path.state for path in b.paths] == ["failed"]
    assert b.paths[0].path.startswith(f"M{CELL + 1} 1h")
    assert b.retried.startswith(f"M{2 * CELL - 6} ")
    assert (a.summary, b.summary) == ("2 success", "1 failed")
    assert grid.width == 2 * CELL


def test_a_bar_is_as_high_as_its_share_of_the_longest_run() -> None:
    grid = drawn(_header([1, 1, 1], [10, 5, None], ["a"]), bytes(3))

    assert [column.height for column in grid.columns] == [grid.bar, grid.bar // 2, grid.bar]
    assert all(column.y + column.height == grid.bar for column in grid.columns)


def test_a_rule_stands_where_the_version_changes() -> None:
    grid = drawn(_header([2, 1, 1], [1, 1, 1], ["a"]), bytes(3))

    assert [column.is_new_version for column in grid.columns] == [False, False, True]


def test_rows_are_those_whose_task_has_the_part() -> None:
    grid = drawn(_header([1], [1], ["load", "Extract"]), bytes([_SUCCESS, _FAILED]), "extr")

    assert [(row.task_id, row.paths[0].state) for row in grid.rows] == [("Extract", "failed")]


def test_a_grid_without_runs_is_empty() -> None:
    grid = drawn(_header([], [], ["a"]), b"")

    assert (grid.width, len(grid.columns), grid.rows[0].paths) == (0, 0, [])


def test_a_grid_is_large_however_many_of_its_tasks_are_folded() -> None:
    tasks = [f"g.t{nth}" for nth in range(ROWS + 1)]
    outline = DagOutline((GroupSpec(group_id="g", tasks=tuple(tasks)),))
    sheets = [
        grid_sheet(_header([], [], tasks[:count]), b"", "", outline, folded)
        for count, folded in ((ROWS + 1, set()), (ROWS + 1, {"g"}), (ROWS, set()))
    ]

    first, second, small = [drawn_sheet(sheet) for sheet in sheets]

    assert [grid.large for grid in (first, second, small)] == [True, True, False]
    assert [len(grid.rows) for grid in (first, second, small)] == [ROWS, 1, ROWS + 1]
