"""Groups of tasks fold in graph, grid and chart, by links; and names for people."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.native.conftest import RUN, sql
from tests.integration.api.pages.conftest import HTML

from headway.decide.charts.grid import CODED
from headway.domain.accounts import AccountRole
from headway.domain.dag.retry import Next
from headway.domain.dag.spec import MapInput
from headway.domain.dag.task_groups import EdgeLabel, GroupSpec
from headway.domain.states import Outcome, TaskState
from headway.testing.data import seed

GROUPED = replace(
    seed.dag(seed.task("g.a"), seed.task("g.h.b", "g.a"), seed.task("c", "g.h.b")),
    dag_display_name="Our flights",
    groups=(
        GroupSpec(group_id="g", tasks=("g.a",), tooltip="<why>", display_name="First"),
        GroupSpec(group_id="g.h", parent="g", tasks=("g.h.b",)),
    ),
    labels=(EdgeLabel(upstream="g.h.b", downstream="c", label="then & there"),),
)


def test_groups_of_a_graph_fold_by_links(api: Api, viewer: TestClient) -> None:
    seed.start_run(api.engine, GROUPED)

    page = viewer.get("/dags/etl/graph").text
    assert all(f">{name}</text>" in page for name in ("a", "b", "c"))
    assert "</tspan>First</text>" in page
    assert "<title>g: &lt;why&gt;. Fold this group</title>" in page
    assert "</title>then &amp; there</text>" in page
    assert 'href="/dags/etl/graph?folded=g.h"' in page
    assert "<h1>Our flights <small>etl</small>" in viewer.get("/dags/etl").text

    folded = viewer.get("/dags/etl/graph?folded=g&folded=other").text
    assert "Unfold the group g of 2 tasks" in folded
    assert 'href="/dags/etl/graph?folded=other"' in folded
    assert not any(f">{name}</text>" in folded for name in ("a", "b"))
    assert 'href="/dags/etl/graph">unfold all</a>' in folded


def test_the_graph_tells_which_groups_are_mapped(api: Api, viewer: TestClient) -> None:
    over = (MapInput(argument="x", length=2),)
    a, b, c = GROUPED.tasks
    mapped = replace(b, mapped_over=over, mapped_group="g.h")
    seed.start_run(api.engine, replace(GROUPED, tasks=(a, mapped, c)))

    for page in ("/dags/etl/graph", f"/dags/etl/runs/{RUN}/graph"):
        shown = viewer.get(page).text
        assert "</tspan>h [ ]</text>" in shown
        assert "</tspan>First</text>" in shown
        assert ">h [ ]</text>" in viewer.get(f"{page}?folded=g.h").text.replace("</tspan>", ">")


def test_a_folded_group_of_a_run_tells_the_states_of_its_tasks(
    api: Api, viewer: TestClient
) -> None:
    seed.start_run(api.engine, GROUPED)

    page = viewer.get(f"/dags/etl/runs/{RUN}/graph?folded=g").text

    assert "Unfold the group g of 2 tasks: 1 scheduled 1 none" in page


@pytest.fixture
def operator(api: Api) -> TestClient:
    """A browser of an operator, beside a run in which `g.a` has failed."""
    seed.start_run(api.engine, GROUPED)
    seed.finish(api.engine, Outcome.FAILED, Next(TaskState.FAILED))
    sql(api.engine, "UPDATE task_instance SET state = 'success' WHERE task_id = 'g.h.b'")
    client = api.client(api.token("olga", AccountRole.OPERATOR))
    client.headers.update(HTML)
    return client


def rows(page: str) -> list[str]:
    return re.findall(r'<svg class="cells"[^>]* data-task="([^"]*)"', page)


def test_groups_of_a_grid_stand_above_their_tasks_and_fold_by_links(operator: TestClient) -> None:
    page = operator.get("/dags/etl?runs=25").text

    assert rows(page) == ["g", "g.a", "g.h", "g.h.b", "c"]
    assert re.search(r'title="g: &lt;why&gt;. Fold this group">.*</span>First</a>', page)
    assert 'aria-label="First: 1 failed"' in page
    assert '<span title="g.h.b">b</span>' in page
    assert 'class="in-2"' in page
    link = unescape(re.findall(r'class="fold" href="([^"]*folded=g\.h)"', page)[0])
    assert rows(operator.get(link).text) == ["g", "g.a", "g.h", "c"]
    folded = operator.get("/dags/etl?folded=g").text
    assert rows(folded) == ["g", "c"]
    assert 'aria-expanded="false"' in folded
    assert '<input type="hidden" name="folded" value="g">' in folded
    assert rows(operator.get("/dags/etl?folded=g&task=h.b").text) == ["g"]


def test_a_cell_of_a_group_tells_its_states_and_changes_all_its_tasks(operator: TestClient) -> None:
    page = operator.get("/dags/etl", params={"at_run": RUN, "at_task": "g"}).text

    panel = page[page.index('id="panel"') :]
    assert panel.index("2 tasks: 1 ") < panel.index(" failed") < panel.index(" success")
    assert 'data-key="Enter" aria-expanded="true"' in panel
    assert f'href="/dags/etl/runs/{RUN}/tasks/g.h.b"' in panel
    [link] = re.findall(r'href="(/dags/etl/cells/clear[^"]+)"', unescape(page))
    assert link.endswith("task=g.a&task=g.h.b")
    assert "2 task instances cleared in 1 run." in operator.get(link).text


def test_of_an_open_group_in_a_rectangle_the_rows_that_are_chosen_count(
    operator: TestClient,
) -> None:
    chosen = {"at_run": RUN, "at_task": "g", "to_task": "g.h", "folded": "g.h"}

    page = unescape(operator.get("/dags/etl", params=chosen).text)

    assert re.findall(r"cells/clear\?[^\"]*?&(task=[^\"]*)", page) == ["task=g.a&task=g.h.b"]
    cut = unescape(operator.get("/dags/etl", params={**chosen, "to_task": "g.a"}).text)
    assert re.search(r'id="panel".*tasks/g\.a"', cut, re.DOTALL)
    assert "/cells/clear" not in cut  # one cell of a task is changed on its own
    assert page.count('class="chosen"') == 3


def test_a_script_gets_the_rows_of_groups_with_their_cells(operator: TestClient) -> None:
    body = operator.get("/dags/etl/cells?folded=g.h").content

    length = int.from_bytes(body[:4], "big")
    header = json.loads(body[4 : 4 + length])
    assert [row["task_id"] for row in header["rows"]] == ["g", "g.a", "g.h", "c"]
    assert header["rows"][0] == {"task_id": "g", "name": "First", "size": 2, "told": "<why>"}
    assert header["rows"][2] == {
        "task_id": "g.h",
        "name": "h",
        "depth": 1,
        "size": 1,
        "folded": True,
    }
    states = [CODED[(cell & 15) - 1] for cell in body[4 + length :]]
    assert states[:3] == [TaskState.FAILED, TaskState.FAILED, TaskState.SUCCESS]


def test_cells_of_other_bundles_are_not_here(operator: TestClient, limited: TestClient) -> None:
    assert limited.get("/dags/etl/cells").status_code == 404


def test_a_grid_without_groups_or_names_is_drawn_from_the_api(api: Api, viewer: TestClient) -> None:
    seed.start_run(api.engine, seed.dag(*[seed.task(f"t{nth}") for nth in range(60)]))

    page = viewer.get("/dags/etl").text

    assert 'data-cells="/headway/v1/dags/etl/grid?limit=25"' in page
    assert 'class="fold"' not in page
    assert "outlined" not in page


def test_a_chart_has_bars_of_groups_that_fold(operator: TestClient) -> None:
    run = f"/dags/etl/runs/{RUN}"
    page = operator.get(run).text

    times = page[page.index('id="times"') :]
    assert '1 ✗<span class="unseen"> failed</span>' in times
    assert re.findall(r'title="(g[^": ]*)', times) == ["g", "g.a", "g.h.", "g.h.b"]
    assert f'href="{run}?folded=g#times"' in times
    assert "<title>1 failed, 1 success, " in times
    folded = operator.get(f"{run}?folded=g").text
    assert 'title="g.a"' not in folded
    assert f'href="{run}/tasks/g.a">g.a</a>' in folded  # the table has all tasks


def test_names_for_people_are_shown_beside_ids(api: Api, viewer: TestClient) -> None:
    named = replace(seed.task("a"), task_display_name="Ask & wait")
    seed.start_run(api.engine, seed.dag(named))

    grid = viewer.get("/dags/etl").text
    run = viewer.get(f"/dags/etl/runs/{RUN}").text

    assert '<span title="a">Ask &amp; wait</span>' in grid
    assert "Groups:" not in grid
    assert run.count("Ask &amp; wait") == 2
    assert rows(viewer.get("/dags/etl?task=WAIT").text) == ["a"]
    assert rows(viewer.get("/dags/etl?task=b").text) == []
    chosen = viewer.get("/dags/etl", params={"at_run": RUN, "at_task": "a"}).text
    assert "<small>Ask &amp; wait</small></h2>" in chosen


def test_a_group_that_is_folded_leaves_room_for_others_in_the_chart_of_a_large_run(
    api: Api, viewer: TestClient
) -> None:
    names = [f"{group}.t{nth:03}" for group in ("g", "h") for nth in range(150)]
    groups = (
        GroupSpec(group_id="g", tasks=tuple(names[:150])),
        GroupSpec(group_id="h", tasks=tuple(names[150:])),
    )
    seed.start_run(api.engine, replace(seed.dag(*map(seed.task, names)), groups=groups))

    def charted(query: str) -> int:
        page = viewer.get(f"/dags/etl/runs/{RUN}{query}").text
        return len(re.findall(r'title="[gh].t', page[page.index('id="times"') :]))

    assert charted("") == 200
    assert charted("?folded=g") == 150
    assert charted("?all=yes") == 300
