"""The panel beside a grid, and changes to a rectangle of cells."""

import re
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN
from tests.integration.api.pages.conftest import HTML

from headway.domain.accounts import AccountRole
from headway.testing.data import seed

LATER = RUN.replace("2024-01-01", "2024-01-02")


@pytest.fixture
def operator(api: Api) -> TestClient:
    """A browser of an operator, beside a DAG with two runs, whose tasks have succeeded."""
    spec = seed.dag(seed.task("a"), seed.task("b"))
    for day in (0, 1):
        seed.start_run(api.engine, spec, day)
    seed.finish(api.engine)
    client = api.client(api.token("olga", AccountRole.OPERATOR))
    client.headers.update(HTML)
    return client


def grid(operator: TestClient, **chosen: str) -> str:
    return str(operator.get("/dags/etl", params=chosen).text)


def test_a_cell_opens_its_task_beside_the_grid(operator: TestClient) -> None:
    page = grid(operator, at_run=RUN, at_task="a")
    assert 'id="panel"' in page
    assert page.count('class="chosen"') == 1
    assert f"/dags/etl/runs/{RUN}/clear?task=a" in page.replace("%3A", ":").replace("%2B", "+")
    assert 'href="http://localhost/dags/etl"' in page


@pytest.mark.parametrize("chosen", [{"at_run": "none", "at_task": "a"}, {"at_run": RUN}])
def test_what_the_grid_does_not_have_opens_nothing(
    operator: TestClient, chosen: dict[str, str]
) -> None:
    assert 'id="panel"' not in grid(operator, **chosen)


def test_a_rectangle_is_cleared_as_a_whole_after_a_preview(api: Api, operator: TestClient) -> None:
    page = grid(operator, at_run=RUN, at_task="a", to_run=LATER, to_task="b")
    assert "<strong>4 cells</strong>: 2 tasks in 2 runs." in page
    assert page.count('class="chosen"') == 4
    [link] = re.findall(r'href="(/dags/etl/cells/clear[^"]+)"', page.replace("&amp;", "&"))

    assert "4 task instances cleared in 2 runs." in operator.get(link).text
    assert set(seed.task_states(api.engine).values()) == {"success"}
    assert "4 task instances cleared in 2 runs." in operator.post(link, data={"reason": "r"}).text
    assert "success" not in seed.task_states(api.engine).values()


def test_a_mark_leaves_alone_what_is_so_already(api: Api, operator: TestClient) -> None:
    said = operator.post(f"/dags/etl/cells/mark-success?run={quote(RUN)}&task=a", data={}).text
    assert "nothing is to be changed" in said


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/dags/etl/cells/burn?run=x&task=a", 404),
        ("/dags/etl/cells/clear?task=a", 422),
        ("/dags/etl/cells/clear?run=none&task=a", 404),
        (f"/dags/etl/cells/clear?run={RUN}&task=none", 404),
    ],
)
def test_what_cannot_be_changed_is_refused(operator: TestClient, path: str, status: int) -> None:
    assert operator.get(path.replace("+", "%2B")).status_code == status


def test_a_viewer_changes_no_cell(operator: TestClient, viewer: TestClient) -> None:
    path = f"/dags/etl/cells/clear?run={quote(RUN)}&task=a"
    assert viewer.get(path).status_code == 403
    assert viewer.post(path, data={}).status_code == 403


def test_a_run_that_has_no_instances_yet_is_left_alone(api: Api, operator: TestClient) -> None:
    seed.create_runs(api.engine, seed.store(api.engine, seed.dag(seed.task("a"))), [2])
    waiting = RUN.replace("2024-01-01", "2024-01-03")
    path = f"/dags/etl/cells/clear?run={quote(RUN)}&run={quote(waiting)}&task=a"
    assert "1 task instance cleared in 1 run." in operator.get(path).text


def test_rows_beyond_the_last_are_the_last(operator: TestClient) -> None:
    assert 'data-task="a"' in grid(operator, first="500")
