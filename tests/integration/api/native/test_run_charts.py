"""Charts of a run: attempts over time, the critical path, the graph, Spark."""

from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, V1, Clients, move, sql

from headway.db.execution import handles, spark_work
from headway.db.execution.spark_work import SparkNews
from headway.domain.dag.spec import MapInput
from headway.domain.dag.task_groups import GroupSpec
from headway.domain.spark_work import SparkFigures, SparkProgress
from headway.testing.data import seed
from headway.testing.data.forced import force

OF = f"{V1}/runs/etl/{RUN}"
CHARTS = ("gantt", "critical-path", "graph", "spark")


def test_the_gantt_lists_attempts_and_instances_without_one(
    running: Api, admin: TestClient
) -> None:
    rows = admin.get(f"{OF}/gantt").json()["rows"]

    assert [(row["task_id"], row["attempt"], row["outcome"]) for row in rows] == [
        ("a", 1, "success"),
        ("b", 0, None),
    ]
    assert rows[0]["queued_at"] <= rows[0]["started_at"] <= rows[0]["ended_at"]
    assert (rows[0]["worker"], rows[1]["queued_at"]) == ("host", None)
    assert rows[1]["scheduled_at"] is not None


def test_pages_of_the_gantt_are_the_whole_chart_once(api: Api, admin: TestClient) -> None:
    seed.running(api.engine, seed.wide(7))
    found, cursor = [], None
    while True:
        params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = admin.get(f"{OF}/gantt", params=params).json()
        found += [row["task_id"] for row in page["rows"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break

    assert found == [f"t{number}" for number in range(7)]


def test_the_critical_path_is_as_long_as_the_run(running: Api, admin: TestClient) -> None:
    sql(
        running.engine,
        "UPDATE task_attempt SET queued_at = '2024-01-02 00:00:01Z',"
        " started_at = '2024-01-02 00:00:03Z', ended_at = '2024-01-02 00:00:10Z'",
    )
    sql(running.engine, "UPDATE dag_run SET started_at = '2024-01-02 00:00:00Z'")
    sql(
        running.engine,
        "UPDATE task_instance SET started_at = '2024-01-02 00:00:03Z',"
        " ended_at = '2024-01-02 00:00:10Z' WHERE task_id = 'a'",
    )
    sql(
        running.engine,
        "UPDATE task_instance SET scheduled_at = '2024-01-02 00:00:10Z' WHERE task_id = 'b'",
    )

    shown = admin.get(f"{OF}/critical-path").json()

    pieces = [(it["task_id"], it["kind"], it["seconds"]) for it in shown["pieces"]]
    assert pieces[:3] == [("a", "scheduling", 1), ("a", "queued", 2), ("a", "running", 7)]
    assert pieces[3][:2] == ("b", "scheduling")
    assert shown["pieces"][3]["end"] == shown["at"]
    assert shown["pieces"][3]["pool"] == "default_pool"
    assert (shown["seconds"]["queued"], shown["seconds"]["running"]) == (2, 7)


def test_the_critical_path_leads_through_a_mapped_group_by_one_map_index(
    api: Api, admin: TestClient
) -> None:
    """The second instance is the slow one, though the first of `a` ended after that of `a`."""
    over = (MapInput(argument="x", length=2),)
    tasks = [
        replace(each, mapped_over=over, mapped_group="g")
        for each in (seed.task("a"), seed.task("b", "a"))
    ]
    spec = replace(seed.dag(*tasks), groups=(GroupSpec(group_id="g", tasks=("a", "b")),))
    force(api.engine, seed.start_run(api.engine, spec), a="success success", b="success success")
    times = [("a", 0, 1, 9), ("a", 1, 1, 3), ("b", 0, 9, 10), ("b", 1, 3, 20)]
    for name, map_index, begin, end in times:
        sql(
            api.engine,
            f"UPDATE task_instance SET ended_at = '2024-01-02 00:00:{end:02}Z',"
            f" scheduled_at = '2024-01-02 00:00:{begin:02}Z'"
            f" WHERE task_id = '{name}' AND map_index = {map_index}",
        )
        sql(
            api.engine,
            f"UPDATE task_attempt SET queued_at = '2024-01-02 00:00:{begin:02}Z',"
            f" started_at = '2024-01-02 00:00:{begin:02}Z', ended_at = '2024-01-02 00:00:{end:02}Z'"
            f" WHERE task_instance_id = (SELECT id FROM task_instance"
            f" WHERE task_id = '{name}' AND map_index = {map_index})",
        )
    sql(api.engine, "UPDATE dag_run SET started_at = '2024-01-02 00:00:00Z'")

    pieces = admin.get(f"{OF}/critical-path").json()["pieces"]

    assert [(it["task_id"], it["map_index"], it["kind"], it["seconds"]) for it in pieces] == [
        ("a", 1, "scheduling", 1),
        ("a", 1, "running", 2),
        ("b", 1, "running", 17),
    ]


def test_a_run_that_has_not_started_has_no_path(api: Api, admin: TestClient) -> None:
    seed.create_runs(api.engine, seed.store(api.engine, seed.dag()), [0])

    shown = admin.get(f"{OF}/critical-path").json()

    assert (shown["state"], shown["pieces"]) == ("queued", [])


def test_the_graph_of_a_run_is_that_of_its_version(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    seed.store(api.engine, seed.dag(seed.task("c")))

    shown = admin.get(f"{OF}/graph").json()

    assert (shown["version"], shown["in_force"]) == (1, 2)
    assert {it["task_id"]: it["instances"] for it in shown["nodes"]} == {
        "a": {"scheduled": 1},
        "b": {"none": 1},
    }
    assert shown["edges"] == [{"upstream": "a", "downstream": "b", "label": None}]
    assert [it["layer"] for it in shown["nodes"]] == [0, 1]


def test_spark_work_is_shown_without_where_it_is_reached(api: Api, admin: TestClient) -> None:
    used, _ = seed.running(api.engine, seed.dag(seed.task("a"), seed.task("b")))
    handle = {"kind": "connect", "application_id": "app-1", "url": "sc://host/;token=canary"}
    progress, figures = SparkProgress(tasks=8, tasks_done=2), SparkFigures(tasks=2, bytes_read=10)
    with api.engine.begin() as conn:
        handles.save(conn, used, handle)
        spark_work.save(conn, [SparkNews(key=used, progress=progress, figures=figures)])

    answer = admin.get(f"{OF}/spark")

    [attempt] = answer.json()["attempts"]
    assert attempt["application_id"] == "app-1"
    assert (attempt["progress"]["tasks"], attempt["progress"]["tasks_done"]) == (8, 2)
    assert attempt["figures"]["bytes_read"] == 10
    assert "canary" not in answer.text


def test_spark_work_that_cannot_be_read_is_unknown(api: Api, admin: TestClient) -> None:
    [used] = seed.running(api.engine, seed.dag())
    with api.engine.begin() as conn:
        handles.save(conn, used, {"kind": "connect"})
        spark_work.save(conn, [SparkNews(key=used, progress=SparkProgress(), figures=None)])
    sql(
        api.engine, """UPDATE spark_work SET progress = '{"tasks": "many"}', figures = '{"x": 1}'"""
    )

    [attempt] = admin.get(f"{OF}/spark").json()["attempts"]

    assert (attempt["progress"], attempt["figures"]) == (None, None)


@pytest.mark.parametrize("chart", CHARTS)
def test_charts_of_another_bundle_are_not_there(running: Api, clients: Clients, chart: str) -> None:
    hidden = clients.limited.get(f"{OF}/{chart}")
    unknown = clients.admin.get(f"{V1}/runs/etl/none/{chart}")
    move(running.engine, "etl", "mine")
    shown = clients.limited.get(f"{OF}/{chart}")

    assert (hidden.status_code, hidden.json()["code"]) == (404, "dag_not_found")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "run_not_found")
    assert shown.status_code == 200


def explained(client: TestClient, task: str = "b", **parameters: object) -> dict[str, object]:
    answer = client.get(f"{V1}/explain/etl/{RUN}/{task}", params=parameters)
    assert answer.status_code == 200, answer.text
    found: dict[str, object] = answer.json()
    return found


def test_a_task_is_explained_with_what_it_waits_for(api: Api, admin: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    seed.register(api.engine)

    found = explained(admin)

    assert (found["task_id"], found["reason"], found["state"]) == ("b", "upstream", "none")
    because = found["because"]
    assert isinstance(because, dict)
    assert because["task_id"] == "a"


def test_a_task_or_an_instance_that_is_not_there_is_not_explained(
    running: Api, admin: TestClient
) -> None:
    of = f"{V1}/explain/etl/{RUN}"

    assert admin.get(f"{of}/none").json()["code"] == "task_not_found"
    assert admin.get(f"{of}/b", params={"map_index": 3}).status_code == 404
    assert admin.get(f"{of}/b", params={"map_index": -3}).status_code == 422


def test_holders_of_other_bundles_are_not_named(running: Api, clients: Clients) -> None:
    seed.make_pool(running.engine, "small", 1)
    holder = seed.in_pool(replace(seed.dag(seed.task("secret"), dag_id="secret_dag")), "small")
    seed.running(running.engine, holder)
    seed.register(running.engine)
    sql(running.engine, "UPDATE task_instance SET pool = 'small' WHERE task_id = 'b'")
    move(running.engine, "etl", "mine")

    everything, limited = explained(clients.admin), explained(clients.limited)

    assert everything["reason"] == limited["reason"] == "pool"
    assert "secret_dag" in str(everything)
    assert "secret" not in str(limited)
    assert (everything["place"] is None, limited["place"]) == (False, None)


def test_a_place_in_the_queue_order_is_not_counted_for_a_limited_account(
    running: Api, clients: Clients
) -> None:
    seed.make_pool(running.engine, "small", 1)
    first = seed.in_pool(seed.dag(seed.task("secret"), dag_id="secret_dag"), "small")
    seed.scheduled(running.engine, first)
    seed.register(running.engine)
    sql(running.engine, "UPDATE process SET slots = 100, queues = '{default}'")
    sql(
        running.engine,
        "UPDATE task_instance SET pool = 'small', rank = 10000000000 WHERE task_id = 'b'",
    )
    move(running.engine, "etl", "mine")

    everything, limited = explained(clients.admin), explained(clients.limited)

    assert everything["reason"] == limited["reason"] == "behind"
    assert "2nd of 2" in str(everything["sentence"])
    assert "2" not in str(limited["sentence"])
    assert limited["held_by"] == []


def test_explanations_of_another_bundle_are_not_there(running: Api, clients: Clients) -> None:
    answer = clients.limited.get(f"{V1}/explain/etl/{RUN}/b")

    assert (answer.status_code, answer.json()["code"]) == (404, "dag_not_found")
