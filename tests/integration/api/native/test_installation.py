"""Queues, simulations, processes, callbacks, notifications, deadlines, backfills, Spark, search."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, V1, Clients, move, sql

from headway.db.execution import handles, spark_work
from headway.db.execution.spark_work import SparkNews
from headway.domain.spark_work import SparkFigures
from headway.testing.data import seed

ROWS = """
    INSERT INTO backfill (dag_id, from_date, to_date, max_active_runs, planned)
    SELECT dag_id, now(), now(), 1, 3 FROM dag ORDER BY dag_id;
    INSERT INTO backfill_date (backfill_id, position, schedule_date, interval_start, interval_end,
                               decision, reason, run_id)
    SELECT it.id, n, now(), now(), now(), 'create', 'new', it.dag_id || n
      FROM backfill AS it CROSS JOIN generate_series(1, 3) AS n;
    INSERT INTO callback (dag_run_id, event, reason)
    SELECT id, 'success', dag_id FROM dag_run CROSS JOIN generate_series(1, 3);
    INSERT INTO deadline (dag_run_id, name, check_at)
    SELECT id, 'within ' || n, now() FROM dag_run CROSS JOIN generate_series(1, 3) AS n;
    INSERT INTO notifier (hash, definition) VALUES ('x', '{"connection": "mail"}');
    INSERT INTO notification (dag_run_id, notifier, event, due_at)
    SELECT run.id, 'x', event, now() FROM dag_run AS run
     CROSS JOIN unnest(ARRAY['failure', 'retry']) AS event
"""
OLD_ATTEMPT = """
    INSERT INTO task_attempt (task_instance_id, attempt, phase, dag_id, pool, pool_slots, queue,
                              rank, scheduler_id, token, process_id, queued_at, claimed_until,
                              started_at, ended_at, outcome, handle)
    SELECT task_instance_id, 99, 'ended', dag_id, pool, pool_slots, queue, rank, scheduler_id,
           gen_random_uuid(), process_id, at, at, at, at, 'success', handle
      FROM task_attempt CROSS JOIN (SELECT now() - interval '9 days' AS at) AS it
     WHERE handle IS NOT NULL
"""
LISTS = ("callbacks", "notifications", "deadlines", "spark/cost", "queue")


@pytest.fixture
def two_bundles(api: Api) -> Api:
    """A DAG `etl` in the bundle `mine`, and `other` in another one, with a row of each kind."""
    for dag_id in ("etl", "other"):
        spec = seed.dag(seed.task("used"), seed.task("waits"), dag_id=dag_id)
        [used, _] = seed.running(api.engine, spec)
        with api.engine.begin() as conn:
            handles.save(conn, used, {"kind": "connect"})
            figures = SparkFigures(tasks=2, executor_run_ms=1_500)
            spark_work.save(conn, [SparkNews(key=used, progress=None, figures=figures)])
        seed.report(api.engine, [used])
        seed.scheduled(api.engine, spec, 1)
    for statement in ROWS.split(";\n"):
        sql(api.engine, statement)
    move(api.engine, "etl", "mine")
    return api


def rows(client: TestClient, path: str, **given: object) -> list[dict[str, object]]:
    answer = client.get(f"{V1}/{path}", params=given)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, object]] = answer.json()["rows"]
    return found


@pytest.mark.parametrize("path", LISTS)
def test_pages_are_the_whole_list_once(two_bundles: Api, clients: Clients, path: str) -> None:
    whole = rows(clients.viewer, path)
    found, cursor = [], ""
    while cursor is not None:
        page = clients.viewer.get(f"{V1}/{path}", params={"limit": 1, "cursor": cursor}).json()
        found += page["rows"]
        cursor = page["next_cursor"]

    assert found == whole
    assert len(whole) >= 2
    assert {row["dag_id"] for row in whole} == {"etl", "other"}


@pytest.mark.parametrize("path", LISTS)
def test_nothing_of_other_bundles_is_listed(two_bundles: Api, clients: Clients, path: str) -> None:
    own = rows(clients.limited, path)

    assert {row["dag_id"] for row in own} == {"etl"}
    assert "other" not in str(own)


@pytest.mark.parametrize("path", LISTS[:4])
def test_lists_of_a_dag_and_of_a_run(two_bundles: Api, clients: Clients, path: str) -> None:
    of_dag = rows(clients.viewer, path, dag_id="other")
    of_run = rows(clients.viewer, path, dag_id="other", run_id=RUN)

    assert {row["dag_id"] for row in of_dag} == {"other"}
    assert {row["run_id"] for row in of_run} == {RUN}
    limited = [
        clients.limited.get(f"{V1}/{path}", params={"dag_id": dag_id}).status_code
        for dag_id in ("etl", "other", "none")
    ]
    assert limited == [200, 404, 404]
    unknown = clients.viewer.get(f"{V1}/{path}", params={"dag_id": "etl", "run_id": "x"})
    assert unknown.json()["code"] == "run_not_found"
    assert clients.viewer.get(f"{V1}/{path}", params={"run_id": RUN}).status_code == 422


def test_lists_are_filtered_by_state(two_bundles: Api, clients: Clients) -> None:
    assert rows(clients.viewer, "callbacks", state="failed") == []
    assert rows(clients.viewer, "notifications", state="failed") == []
    assert rows(clients.viewer, "deadlines", state="missed") == []
    assert clients.viewer.get(f"{V1}/callbacks", params={"state": "gone"}).status_code == 422


def test_the_cost_in_spark_is_that_of_dags_or_of_runs(two_bundles: Api, clients: Clients) -> None:
    by_dag, by_run = (
        rows(clients.viewer, "spark/cost"),
        rows(clients.viewer, "spark/cost", by_run=1),
    )

    assert [(row["dag_id"], row["run_id"], row["executor_run_ms"]) for row in by_dag] == [
        ("etl", None, 1_500),
        ("other", None, 1_500),
    ]
    assert [(row["dag_id"], row["run_id"]) for row in by_run] == [("etl", RUN), ("other", RUN)]


@pytest.mark.parametrize(
    ("span", "found"),
    [
        ({}, 1),
        ({"dag_id": "etl"}, 1),
        ({"dag_id": "etl", "run_id": RUN}, 2),
        ({"from": "-30"}, 2),
        ({"from": "-10", "to": "-8"}, 1),
        ({"from": "-8", "to": "-7"}, 0),
        ({"to": "-5"}, 1),
    ],
)
def test_the_cost_in_spark_is_that_of_a_span_of_time(
    two_bundles: Api, clients: Clients, span: dict[str, str], found: int
) -> None:
    """An attempt ended now, and another one nine days ago."""
    with two_bundles.engine.begin() as conn:
        conn.execute(text("SET LOCAL session_replication_role = replica"))
        conn.execute(text(OLD_ATTEMPT))

    def asked(name: str, value: str) -> str:
        if name not in ("from", "to"):
            return value
        return (datetime.now(UTC) + timedelta(days=int(value))).isoformat()

    given = {name: asked(name, value) for name, value in span.items()}
    listed = rows(clients.viewer, "spark/cost", **given)

    assert sum(row["attempts"] for row in listed if row["dag_id"] == "etl") == found  # type: ignore[misc]


@pytest.mark.parametrize(
    "span",
    [
        {"from": "2024-01-01T00:00:00Z"},
        {"from": "2024-01-01T00:00:00Z", "to": "2024-03-01T00:00:00Z"},
        {"from": "2024-01-02T00:00:00Z", "to": "2024-01-01T00:00:00Z"},
    ],
)
def test_the_cost_in_spark_of_too_long_a_span_is_refused(
    clients: Clients, span: dict[str, str]
) -> None:
    assert clients.viewer.get(f"{V1}/spark/cost", params=span).status_code == 422


def test_the_queue_is_in_order_with_the_places(two_bundles: Api, clients: Clients) -> None:
    everything, own = rows(clients.viewer, "queue"), rows(clients.limited, "queue")
    small = clients.viewer.get(f"{V1}/queue", params={"pool": "none"})

    assert [row["place"] for row in everything] == [1, 2, 3, 4]
    assert [row["task_id"] for row in own] == ["used", "waits"]
    assert [row["place"] for row in own] == [None, None]
    assert (small.status_code, small.json()["code"]) == (404, "pool_not_found")


def test_the_queue_of_one_pool(two_bundles: Api, clients: Clients) -> None:
    seed.make_pool(two_bundles.engine, "small", 1)
    sql(
        two_bundles.engine,
        "UPDATE task_instance SET pool = 'small' WHERE state = 'scheduled' AND task_id = 'used'",
    )

    assert {row["task_id"] for row in rows(clients.viewer, "queue", pool="small")} == {"used"}
    assert [row["pool"] for row in rows(clients.viewer, "queue")] == [
        "default_pool",
        "default_pool",
        "small",
        "small",
    ]


def test_other_limits_are_simulated(two_bundles: Api, clients: Clients) -> None:
    seed.register(two_bundles.engine)
    sql(two_bundles.engine, "UPDATE process SET slots = 100")

    found = clients.viewer.post(f"{V1}/simulate", json={"pools": {"default_pool": 3}})

    assert found.status_code == 200
    assert (found.json()["waiting"], found.json()["queued_now"]) == (4, 4)
    assert found.json()["queued_then"] == 1
    assert len(found.json()["lost"]) == 3
    assert {"limit": "pool", "owner": "default_pool", "now": 0, "then": 3} in found.json()[
        "refusals"
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"dags": {"none": 1}}, 404),
        ({"pools": {"default_pool": -1}}, 422),
        ({"pool": {"default_pool": 1}}, 422),
        ({"parallelism": 10**12}, 422),
    ],
)
def test_limits_that_cannot_be_are_refused(
    two_bundles: Api, clients: Clients, body: dict[str, object], status: int
) -> None:
    assert clients.viewer.post(f"{V1}/simulate", json=body).status_code == status


def test_what_is_of_the_whole_installation_is_not_for_limited_accounts(
    two_bundles: Api, clients: Clients
) -> None:
    simulated = clients.limited.post(f"{V1}/simulate", json={})
    processes = clients.limited.get(f"{V1}/processes")

    assert (simulated.status_code, processes.status_code) == (403, 403)
    assert "A simulation is about the whole installation" in simulated.json()["detail"]


def test_processes_are_listed_with_their_beats(two_bundles: Api, clients: Clients) -> None:
    sql(two_bundles.engine, "UPDATE process SET ended_at = now() WHERE id = 1")

    alive, ended = rows(clients.viewer, "processes"), rows(clients.viewer, "processes", ended=True)

    assert [(row["kind"], row["running"], row["ended_at"]) for row in alive] == [
        ("worker", 1, None)
    ]
    assert [row["id"] for row in ended] == [1]
    assert rows(clients.viewer, "processes", kind="parser") == []


def test_a_worker_is_drained_by_an_admin(two_bundles: Api, clients: Clients) -> None:
    [worker, _] = rows(clients.viewer, "processes")
    path = f"{V1}/processes/{worker['id']}/drain"

    refused = [client.post(path) for client in (clients.viewer, clients.operator)]
    rehearsed = clients.admin.post(path, params={"dry_run": True})
    [before, _] = rows(clients.viewer, "processes")
    done = clients.admin.post(path, json={"reason": "new machine"})
    [after, _] = rows(clients.viewer, "processes")

    assert [answer.status_code for answer in refused] == [403, 403]
    assert rehearsed.json() == done.json() == {"id": worker["id"], "draining": True}
    assert before["drain_requested_at"] is None
    assert after["drain_requested_at"] is not None
    unknown = [clients.admin.post(f"{V1}/processes/{n}/drain").status_code for n in (999, 0, 2**70)]
    assert unknown == [404, 422, 422]


def test_dates_of_a_backfill_are_in_the_order_of_its_plan(
    two_bundles: Api, clients: Clients
) -> None:
    first = clients.limited.get(f"{V1}/backfills/1/dates", params={"limit": 2}).json()
    rest = clients.limited.get(
        f"{V1}/backfills/1/dates", params={"cursor": first["next_cursor"]}
    ).json()

    assert [it["run_id"] for it in first["rows"] + rest["rows"]] == ["etl1", "etl2", "etl3"]
    assert (rest["next_cursor"], first["rows"][0]["decision"]) == (None, "create")


def test_a_backfill_of_another_bundle_is_not_told_from_none(
    two_bundles: Api, clients: Clients
) -> None:
    hidden = clients.limited.get(f"{V1}/backfills/2/dates")
    unknown = clients.limited.get(f"{V1}/backfills/9/dates")

    assert hidden.status_code == unknown.status_code == 404
    assert hidden.json()["detail"].replace("2", "9") == unknown.json()["detail"]
    assert clients.viewer.get(f"{V1}/backfills/2/dates").status_code == 200


def test_names_are_searched_within_the_bundles(two_bundles: Api, clients: Clients) -> None:
    everything = clients.viewer.get(f"{V1}/search", params={"q": "T"}).json()
    own = clients.limited.get(f"{V1}/search", params={"q": "t"}).json()
    runs = clients.limited.get(f"{V1}/search", params={"q": "2024-01-02"}).json()["runs"]

    assert [it["dag_id"] for it in everything["dags"]] == ["etl", "other"]
    assert [it["dag_id"] for it in own["dags"]] == ["etl"]
    assert own["tasks"] == [{"dag_id": "etl", "task_id": "waits"}]
    assert [(it["dag_id"], it["state"]) for it in runs] == [("etl", "running")]


def test_what_begins_with_the_text_is_found_first_and_percents_are_plain(
    api: Api, clients: Clients
) -> None:
    for dag_id in ("a_etl", "etl_b", "x"):
        seed.store(api.engine, replace(seed.dag(dag_id=dag_id), description="100% done"))

    found = clients.viewer.get(f"{V1}/search", params={"q": "etl"}).json()["dags"]
    percent = clients.viewer.get(f"{V1}/search", params={"q": "0%"}).json()["dags"]
    any_letter = clients.viewer.get(f"{V1}/search", params={"q": "e%l"}).json()["dags"]

    assert [it["dag_id"] for it in found] == ["etl_b", "a_etl"]
    assert len(percent) == 3
    assert any_letter == []
    assert clients.viewer.get(f"{V1}/search", params={"q": ""}).status_code == 422
