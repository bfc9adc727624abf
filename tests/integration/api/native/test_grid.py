"""The grid: rows, columns and cells in one answer."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest
from sqlalchemy import Connection, text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, V1, Clients, move, sql

from headway.db.reads.charts import grid_cells
from headway.domain.dag.spec import MapInput
from headway.domain.states import TaskState
from headway.testing.data import seed
from headway_api.native.dags import grid


def opened(answer: httpx.Response) -> tuple[dict[str, Any], list[list[tuple[str | None, int]]]]:
    """Return the header, and of each column the state and the flags of each cell."""
    assert answer.status_code == 200, answer.text
    length = int.from_bytes(answer.content[:4], "big")
    header = json.loads(answer.content[4 : 4 + length])
    cells, rows = answer.content[4 + length :], len(header["rows"])
    columns = [cells[start : start + rows] for start in range(0, len(cells), rows or 1)]
    assert len(columns) == len(header["columns"])
    return header, [[(header["states"][it & 15], it & 240) for it in each] for each in columns]


def test_cells_have_the_states_of_the_tasks_of_each_run(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")), 0)
    seed.finish(api.engine)
    seed.create_runs(api.engine, seed.store(api.engine, seed.dag(seed.task("c"))), [1])

    header, cells = opened(admin.get(f"{V1}/dags/etl/grid"))

    assert [row["task_id"] for row in header["rows"]] == ["c", "a", "b"]
    assert [(it["run_id"], it["state"]) for it in header["columns"]] == [
        (RUN.replace("01-01", "01-02"), "queued"),
        (RUN, "running"),
    ]
    assert cells == [
        [(None, 0), (None, 0), (None, 0)],
        [(None, 0), ("success", 0), ("none", 0)],
    ]
    assert header == admin.get(f"{V1}/dags/etl/grid/columns").json()


def test_a_cell_says_that_a_task_was_tried_again(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("a")))
    sql(api.engine, "UPDATE task_instance SET attempt = 2")

    header, cells = opened(admin.get(f"{V1}/dags/etl/grid"))

    assert cells == [[("scheduled", header["retried"])]]


def test_a_mapped_task_is_a_row_with_its_most_telling_state(api: Api, admin: TestClient) -> None:
    me = seed.register(api.engine, "worker")
    claimed = seed.run_mapped(api.engine, me, 3)
    seed.report(api.engine, [claimed[0].key])

    header, cells = opened(admin.get(f"{V1}/dags/etl/grid"))

    assert header["rows"] == [{"task_id": "m", "mapped": True}]
    assert cells == [[("running", header["several"])]]
    assert header["mapped"] == [{"row": 0, "column": 0, "states": {"running": 2, "success": 1}}]


def test_runs_are_paged_the_latest_first_and_filtered(api: Api, admin: TestClient) -> None:
    seed.create_runs(api.engine, seed.store(api.engine, seed.dag()), [0, 1, 2])

    first = admin.get(f"{V1}/dags/etl/grid/columns", params={"limit": 2}).json()
    rest = admin.get(
        f"{V1}/dags/etl/grid/columns", params={"limit": 2, "cursor": first["next_cursor"]}
    ).json()
    none = admin.get(f"{V1}/dags/etl/grid/columns", params={"state": "failed"}).json()

    dates = [it["logical_date"][:10] for page in (first, rest) for it in page["columns"]]
    assert dates == ["2024-01-03", "2024-01-02", "2024-01-01"]
    assert rest["next_cursor"] is None
    assert none["columns"] == []


def test_a_grid_that_the_client_has_is_not_sent_again(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag())
    first = admin.get(f"{V1}/dags/etl/grid")
    known = {"If-None-Match": first.headers["etag"]}

    same = admin.get(f"{V1}/dags/etl/grid", headers=known)
    seed.finish(api.engine)
    changed = admin.get(f"{V1}/dags/etl/grid", headers=known)

    assert (same.status_code, same.content) == (304, b"")
    assert changed.status_code == 200


def test_every_state_has_a_code(api: Api, admin: TestClient) -> None:
    seed.store(api.engine, seed.dag())

    header = admin.get(f"{V1}/dags/etl/grid/columns").json()

    assert header["states"][0] is None
    assert sorted(header["states"][1:]) == sorted(TaskState)
    assert len(header["states"]) <= header["retried"] == 16


def test_the_grid_of_another_bundle_is_not_there(api: Api, clients: Clients) -> None:
    over = MapInput(argument="x", length=2)
    seed.start_run(api.engine, seed.dag(replace(seed.task("m"), mapped_over=(over,))))

    hidden = [clients.limited.get(f"{V1}/dags/etl/grid{part}") for part in ("", "/columns")]
    unknown = clients.limited.get(f"{V1}/dags/none/grid")
    move(api.engine, "etl", "mine")
    shown = clients.limited.get(f"{V1}/dags/etl/grid")

    assert [it.status_code for it in hidden] == [404, 404]
    assert hidden[0].json()["detail"].replace("etl", "none") == unknown.json()["detail"]
    assert opened(shown)[0]["columns"] != []


def test_a_run_of_many_tasks_is_read_by_few_statements(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.wide(300))
    with api.engine.begin() as conn:
        some = text("UPDATE task_instance SET state = 'queued' WHERE task_id = 't299'")
        conn.execute(some)

    header, cells = opened(admin.get(f"{V1}/dags/etl/grid"))

    states = dict(zip((row["task_id"] for row in header["rows"]), cells[0], strict=True))
    assert states.pop("t299") == ("queued", 0)
    assert set(states.values()) == {("scheduled", 0)}


def test_many_cells_are_read_by_several_statements(
    api: Api, admin: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement for 5,000 tasks in 365 runs took longer than the database allows."""
    for day in range(3):
        seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")), day)
    at_once = opened(admin.get(f"{V1}/dags/etl/grid"))
    asked: list[int] = []

    def packed(conn: Connection, run_ids: Sequence[int], *given: Any) -> Any:
        asked.append(len(run_ids))
        return read(conn, run_ids, *given)

    read = grid_cells.packed
    monkeypatch.setattr(grid_cells, "packed", packed)
    monkeypatch.setattr(grid, "MOST_CELLS", 4)

    assert opened(admin.get(f"{V1}/dags/etl/grid")) == at_once
    assert asked == [2, 1]


def test_a_run_that_has_ended_is_read_once_until_it_ends_again(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("a")))
    seed.finish(api.engine)
    sql(api.engine, "UPDATE dag_run SET state = 'success', ended_at = now()")
    before = opened(admin.get(f"{V1}/dags/etl/grid"))[1]
    for table in ("task_instance", "dag_run"):  # they refuse such changes
        sql(api.engine, f"ALTER TABLE {table} DISABLE TRIGGER USER")
    sql(api.engine, "UPDATE task_instance SET state = 'failed'")

    assert opened(admin.get(f"{V1}/dags/etl/grid"))[1] == before == [[("success", 0)]]
    sql(api.engine, "UPDATE dag_run SET state = 'failed', ended_at = clock_timestamp()")
    assert opened(admin.get(f"{V1}/dags/etl/grid"))[1] == [[("failed", 0)]]
