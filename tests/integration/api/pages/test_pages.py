"""What pages show, on rows as services leave them."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, move, sql

from headway.db.execution.attempts import name_instance
from headway.domain.dag.retry import Next
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed

PAGES = (
    "/dags/etl",
    f"/dags/etl/runs/{RUN}",
    f"/dags/etl/runs/{RUN}/tasks/a",
    f"/dags/etl/runs/{RUN}/tasks/a/attempts/1/log",
)


@pytest.fixture
def run(api: Api) -> int:
    """A run of a DAG with a task that has succeeded, and one below it that waits."""
    found = seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    seed.finish(api.engine)
    return found


def test_an_empty_installation_says_what_to_do(viewer: TestClient) -> None:
    assert "Nothing failed in the last seven days" in viewer.get("/").text
    assert "There is no DAG yet. Put a DAG file" in viewer.get("/dags").text


def test_the_home_page_shows_failures_first(api: Api, run: int, viewer: TestClient) -> None:
    sql(
        api.engine, "UPDATE dag_run SET state = 'failed', ended_at = now() WHERE id = :run", run=run
    )
    sql(
        api.engine,
        "INSERT INTO import_error (bundle, relative_path, error, at) "
        "VALUES ('main', 'broken.py', 'SyntaxError: <b>', now())",
    )

    text = viewer.get("/").text

    assert text.index("Failed runs of the last seven days") < text.index("Running and queued runs")
    assert f'href="/dags/etl/runs/{RUN}"' in text
    assert "broken.py" in text
    assert "SyntaxError: &lt;b&gt;" in text
    assert "default_pool" in text


def test_a_queued_run_is_there_since_it_was_created(api: Api, viewer: TestClient) -> None:
    """A backfill's run was due years ago."""
    seed.create_runs(api.engine, seed.store(api.engine, seed.dag(seed.task("a"))), [0])
    sql(api.engine, "UPDATE dag_run SET created_at = '2024-05-06 07:08:09+00'")

    assert "2024-05-06 07:08:09" in viewer.get("/").text


def test_pools_are_shown_with_what_is_taken(api: Api, run: int, viewer: TestClient) -> None:
    sql(api.engine, "UPDATE pool SET slots = 8 WHERE name = 'default_pool'")
    for path in ("/", "/pools"):
        assert (
            'low="7.5" max="8" value="0" aria-label="0 of 8 slots taken"' in viewer.get(path).text
        )


def test_an_old_failure_is_not_news(api: Api, run: int, viewer: TestClient) -> None:
    sql(
        api.engine,
        "UPDATE dag_run SET state = 'failed', started_at = now() - interval '9 days', "
        "ended_at = now() - interval '8 days' WHERE id = :run",
        run=run,
    )

    assert "Nothing failed" in viewer.get("/").text


def test_dags_are_listed_with_their_runs(run: int, viewer: TestClient) -> None:
    text = viewer.get("/dags").text

    assert 'href="/dags/etl"' in text
    assert re.search(rf'<a [^>]* title="{re.escape(RUN)}: running"></a>', text)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("q=ETL", True),
        ("q=other", False),
        ("state=running", True),
        ("state=failed", False),
        ("paused=yes", False),
        ("paused=no", True),
        ("tag=none", False),
    ],
)
def test_dags_are_found_by_the_controls(
    run: int, viewer: TestClient, query: str, *, found: bool
) -> None:
    text = viewer.get(f"/dags?{query}").text

    assert ('href="/dags/etl"' in text) is found
    assert ("No DAG matches." in text) is not found


def test_controls_show_what_the_address_says(run: int, viewer: TestClient) -> None:
    text = viewer.get("/dags?q=%22x&state=failed&paused=yes").text

    assert 'value="&#34;x"' in text
    assert '<option value="failed" selected>' in text
    assert '<option value="yes" selected>' in text


def test_a_grid_has_a_row_for_each_task(run: int, viewer: TestClient) -> None:
    text = viewer.get("/dags/etl").text

    assert 'aria-label="a: 1 success"' in text
    assert 'data-task="b"' in text
    assert f'href="/dags/etl/runs/{RUN}"' in text
    assert 'data-task="a"' not in viewer.get("/dags/etl?task=b").text


def test_a_dag_whose_file_is_broken_says_so(api: Api, run: int, viewer: TestClient) -> None:
    sql(
        api.engine,
        "INSERT INTO import_error (bundle, relative_path, error, at) "
        "SELECT bundle, relative_path, 'NameError: x', now() FROM dag",
    )

    text = viewer.get("/dags/etl").text

    assert "The version before stays in force." in text
    assert "NameError: x" in text


def test_a_failed_run_opens_at_its_first_failed_task(api: Api, viewer: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")))
    seed.finish(api.engine, Outcome.FAILED, Next(TaskState.FAILED))

    text = viewer.get(f"/dags/etl/runs/{RUN}").text

    assert text.index("First failed task") < text.index("<h2>Tasks</h2>")
    assert f'href="/dags/etl/runs/{RUN}/tasks/a"' in text


def test_a_waiting_task_says_why(api: Api, viewer: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(seed.task("a"), seed.task("b", "a")))

    text = viewer.get(f"/dags/etl/runs/{RUN}/tasks/b").text

    assert "Why it is not done" in text
    assert "What changes it:" in text
    assert 'class="chain"' in text


def test_a_task_that_has_ended_is_not_explained(run: int, viewer: TestClient) -> None:
    text = viewer.get(f"/dags/etl/runs/{RUN}/tasks/a").text

    assert "Why it is not done" not in text
    assert "/tasks/a/attempts/1/log" in text


def test_a_mapped_task_lists_its_instances_by_page_and_state(api: Api, viewer: TestClient) -> None:
    claimed = seed.run_mapped(api.engine, seed.register(api.engine, "worker"), 130)
    found = re.search(r'href="(/dags/etl/runs/[^"]*)"', viewer.get("/dags/etl").text)
    assert found is not None
    task = f"{found[1]}/tasks/m"

    first, rest = viewer.get(task).text, viewer.get(f"{task}?first=100").text

    assert "has 130 instances" in first
    assert re.search(r"<span>100\b", first)
    assert re.search(r"<span>30\b", first)
    assert re.findall(r"/tasks/m/(\d+)\"", first) == [str(index) for index in range(100)]
    assert re.findall(r"/tasks/m/(\d+)\"", rest) == [str(index) for index in range(100, 130)]
    assert f"{task}?first=100" in unescape(first)
    assert "first=" not in rest
    queued = re.findall(r"/tasks/m/(\d+)\"", viewer.get(f"{task}?state=queued").text)
    assert {int(index) for index in queued} == {*range(130)} - {it.map_index for it in claimed}
    assert "No instance matches" in viewer.get(f"{task}?state=failed").text
    assert viewer.get(f"{task}/1").status_code == 200
    assert viewer.get(f"{task}/130").status_code == 404
    with api.engine.begin() as conn:
        name_instance(conn, claimed[1].key, "<b>UA</b>")
    for place in (task, f"{task}/1", found[1]):
        assert "&lt;b&gt;UA&lt;/b&gt;" in viewer.get(place).text
    assert "<title>m[1] (&lt;b&gt;UA&lt;/b&gt;) in" in viewer.get(f"{task}/1").text


@pytest.mark.parametrize("path", PAGES)
def test_other_bundles_are_not_here(api: Api, run: int, limited: TestClient, path: str) -> None:
    answer = limited.get(path)

    assert answer.status_code == 404
    assert "Not here" in answer.text
    move(api.engine, "etl", "mine")
    assert limited.get(path).status_code == 200 or path.endswith("log")


def test_lists_leave_other_bundles_out(api: Api, run: int, limited: TestClient) -> None:
    assert "etl" not in limited.get("/dags").text
    home = limited.get("/").text
    assert "etl" not in home
    assert "default_pool" not in home


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/dags/none", 404, "There is no DAG"),
        ("/dags/etl/runs/none", 404, "none"),
        (f"/dags/etl/runs/{RUN}/tasks/none", 404, "has no task"),
        ("/nothing", 404, "There is nothing at /nothing"),
        ("/dags?cursor=bad", 422, "cursor"),
        ("/dags/etl?runs=0", 422, "runs"),
        ("/dags?state=odd", 422, "state"),
    ],
)
def test_errors_are_pages(run: int, viewer: TestClient, path: str, status: int, said: str) -> None:
    answer = viewer.get(path)

    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert said in answer.text


def test_programs_still_get_problems(viewer: TestClient) -> None:
    answer = viewer.get("/nothing", headers={"Accept": "application/json"})

    assert answer.json()["status"] == 404
    assert viewer.get("/api/v2/dags/none").json()["status"] == 404


def test_pages_have_the_policy_and_no_text_of_others_as_markup(
    api: Api, viewer: TestClient
) -> None:
    hostile = '<img src=x onerror=alert(1)>"\u202e'
    seed.start_run(api.engine, seed.dag(seed.task("a")))
    sql(api.engine, "UPDATE dag SET description = :text", text=hostile)

    answer = viewer.get("/dags/etl")

    assert "<img" not in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["vary"] == "Cookie, Accept-Encoding"


def test_a_page_that_is_the_same_is_not_sent_again(run: int, viewer: TestClient) -> None:
    first = viewer.get("/dags/etl")
    again = viewer.get("/dags/etl", headers={"If-None-Match": first.headers["etag"]})

    assert (again.status_code, again.content) == (304, b"")


def test_assets_are_kept_for_ever_and_belong_to_one_version(browser: TestClient) -> None:
    page = browser.get("/sign-in")
    sheet = re.search(r'href="(/static/[0-9a-f]+)/headway.css"', page.text)
    assert sheet is not None
    assert page.headers["link"] == f"<{sheet[1]}/headway.css>; rel=preload; as=style"

    answer = browser.get(f"{sheet[1]}/headway.css")

    assert answer.status_code == 200
    assert "immutable" in answer.headers["cache-control"]
    assert browser.get("/static/0000/headway.css").status_code == 404
    assert browser.get(f"{sheet[1]}/%2e%2e/app.py").status_code == 404


def test_times_are_in_utc_for_who_has_no_script(api: Api, run: int, viewer: TestClient) -> None:
    at = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)
    sql(api.engine, "UPDATE dag_run SET started_at = :at WHERE id = :run", at=at, run=run)

    text = viewer.get(f"/dags/etl/runs/{RUN}").text

    assert (
        '<time datetime="2024-05-06T07:08:09.000+00:00" title="2024-05-06 07:08:09 UTC">'
        "2024-05-06 07:08:09</time>" in text
    )


def test_a_task_shows_what_it_has_left_and_how_it_did_lately(
    api: Api, run: int, viewer: TestClient
) -> None:
    sql(
        api.engine,
        "INSERT INTO xcom (task_instance_id, attempt, key, value) "
        "SELECT id, 1, key, value FROM task_instance, (VALUES "
        "('rows', CAST('[1, 2]' AS json)), ('text', to_json(repeat('x', 3000))), "
        "('blob', json_build_object('__headway__', 'bytes', 'base64', repeat('A', 400)))) "
        "AS it (key, value) WHERE task_id = 'a'",
    )

    page = viewer.get(f"/dags/etl/runs/{RUN}/tasks/a").text

    assert "rows</td>" in page
    assert "xcomEntries/text" in page
    assert "xcomEntries/rows" not in page
    assert "xcomEntries/blob" in page
    assert f"{'A' * 80}… (400 characters)" in page
    assert 'aria-current="true"' in page


def test_a_large_graph_opens_around_what_failed(api: Api, viewer: TestClient) -> None:
    names = [f"t{nth:03}" for nth in range(320)]
    chain = [seed.task(it, *names[max(nth - 1, 0) : nth]) for nth, it in enumerate(names)]
    seed.start_run(api.engine, seed.dag(*chain))

    page = viewer.get("/dags/etl/graph?task=t100&depth=1").text
    assert [name for name in names if f">{name}<" in page] == ["t099", "t100", "t101"]
    assert "All 320 tasks" in page
    whole = viewer.get("/dags/etl/graph?all=yes").text
    assert all(f">{name}<" in whole for name in names)
    of_run = viewer.get(f"/dags/etl/runs/{RUN}/graph").text
    assert "t002" in of_run
    assert "t003" not in of_run
    assert viewer.get("/dags/etl/graph?task=none").status_code == 404
