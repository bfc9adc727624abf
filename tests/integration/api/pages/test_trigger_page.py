"""Trigger a DAG by its form: fields by the params, then what the run would be, then the run."""

import re
from dataclasses import replace
from html import unescape
from typing import Final

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient
from tests.integration.api.conftest import Api
from tests.integration.api.pages.conftest import HTML

from headway.domain.accounts import AccountRole
from headway.domain.arguments import JsonValue
from headway.domain.dag.param_schema import ParamSchema
from headway.testing.data import seed

PARAMS: Final[dict[str, JsonValue]] = {"limit": 10, "fast": False, "city": "Oslo", "tags": ["a"]}
TYPED = {
    "param.limit": "10",
    "param.fast": "true",
    "param.city": "Bodø",
    "param.tags": '["a"]',
    "conf": "",
}


@pytest.fixture
def operator(api: Api) -> TestClient:
    """A browser of an operator, beside a DAG with params."""
    seed.store(api.engine, replace(seed.dag(seed.task("a")), params=PARAMS))
    client = api.client(api.token("olga", AccountRole.OPERATOR))
    client.headers.update(HTML)
    return client


def hidden(page: str) -> dict[str, str]:
    found = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    return {name: unescape(value) for name, value in found}


def confs(api: Api) -> list[object]:
    with api.engine.connect() as conn:
        return [row.conf for row in conn.execute(text("SELECT conf FROM dag_run ORDER BY id"))]


def test_fields_have_the_types_and_values_of_the_params(operator: TestClient) -> None:
    page = operator.get("/dags/etl/trigger").text
    assert '<input name="param.limit" value="10" type="number"' in page
    assert '<select name="param.fast"><option>true</option><option selected>false' in page
    assert '<input name="param.city" value="Oslo"' in page
    assert '<textarea name="param.tags"' in page


def test_a_run_is_shown_first_and_has_what_was_typed(api: Api, operator: TestClient) -> None:
    shown = operator.post("/dags/etl/trigger", data=TYPED)
    assert "with city, fast of its own" in shown.text
    assert confs(api) == []

    done = operator.post("/dags/etl/trigger", data={**hidden(shown.text), "reason": "a test"})

    assert confs(api) == [{"fast": True, "city": "Bodø"}]
    assert "not what the preview said" not in done.text
    assert re.search(r'href="/dags/etl/runs/manual__[^"]+">Go on', done.text)
    assert "a test" in operator.get("/journal?dag=etl").text


def test_more_conf_wins_over_fields(api: Api, operator: TestClient) -> None:
    shown = operator.post("/dags/etl/trigger", data={**TYPED, "conf": '{"city": "Rome", "n": 1}'})
    operator.post("/dags/etl/trigger", data=hidden(shown.text))
    assert confs(api) == [{"fast": True, "city": "Rome", "n": 1}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"param.limit": "ten"}, "limit is a number"),
        ({"param.fast": "1"}, "fast is true or false"),
        ({"param.tags": "["}, "tags is JSON"),
        ({"conf": "[]"}, "The conf is a JSON object"),
        ({"date": "soon"}, "is no date"),
        ({"run_id": "scheduled__x"}, "Only runs of a schedule"),
    ],
)
def test_a_wrong_form_comes_back_as_it_was(
    api: Api, operator: TestClient, change: dict[str, str], said: str
) -> None:
    page = operator.post("/dags/etl/trigger", data={**TYPED, **change}).text
    assert said in page
    assert 'value="Bodø"' in page
    assert confs(api) == []


@pytest.fixture
def typed(api: Api, operator: TestClient) -> TestClient:
    """The operator's browser, beside a DAG whose params have schemas."""
    schemas: dict[str, dict[str, JsonValue]] = {
        "size": {"type": "integer", "minimum": 1, "maximum": 9, "title": "How <many>"},
        "mode": {"enum": ["full", "part"], "values_display": {"part": "A part"}},
        "day": {"type": "string", "format": "date", "section": "When"},
        "note": {"type": ["string", "null"], "format": "multiline", "section": "When"},
        "city": {"type": "string", "examples": ["Oslo", "Rome"], "maxLength": 20},
        "fixed": {"const": "x"},
    }
    params: dict[str, JsonValue] = {
        "size": 3,
        "mode": "full",
        "note": None,
        "city": "",
        "fixed": "x",
    }
    spec = replace(
        seed.dag(seed.task("a"), dag_id="typed"),
        params=params,
        param_schemas=tuple(
            ParamSchema(name=name, schema=schema, description=f"About {name}.")
            for name, schema in schemas.items()
        ),
    )
    seed.store(api.engine, spec)
    return operator


def test_the_form_is_what_the_schemas_say(typed: TestClient) -> None:
    page = typed.get("/dags/typed/trigger").text

    assert "How &lt;many&gt;" in page
    assert 'name="param.size" value="3" type="number" step="1" min="1" max="9"' in page
    assert '<option value="&#34;full&#34;" selected>full</option>' in page
    assert '<option value="&#34;part&#34;">A part</option>' in page
    assert "<h2>When</h2>" in page
    assert "<label>day (required)" in page
    assert 'name="param.day" value="" type="date"' in page
    assert '<textarea name="param.note"' in page
    assert 'name="param.city" value="" maxlength="20" list="param.city.suggestions"' in page
    assert (
        '<datalist id="param.city.suggestions"><option value="Oslo"><option value="Rome">' in page
    )
    assert "<small>About size</small>" in page
    assert "param.fixed" not in page


def test_what_was_chosen_is_the_conf(api: Api, typed: TestClient) -> None:
    given = {"param.size": "9", "param.mode": '"part"', "param.day": "2024-05-01", "param.note": ""}
    shown = typed.post("/dags/typed/trigger", data=given)
    typed.post("/dags/typed/trigger", data=hidden(shown.text))

    assert confs(api) == [{"size": 9, "mode": "part", "day": "2024-05-01"}]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"param.size": "10"}, "param &#39;size&#39; is 10 and must be at most 9"),
        ({"param.day": ""}, "param &#39;day&#39; has no value and must have one: text"),
        ({"param.mode": '"other"'}, "must be one of &#39;full&#39;, &#39;part&#39;"),
        ({"conf": '{"sise": 1}'}, "has no param &#39;sise&#39; for 1; did you mean size"),
    ],
)
def test_what_the_params_do_not_allow_is_refused(
    api: Api, typed: TestClient, change: dict[str, str], said: str
) -> None:
    given = {"param.day": "2024-05-01", **change}
    assert said in typed.post("/dags/typed/trigger", data=given).text
    assert confs(api) == []


def test_a_viewer_triggers_nothing(api: Api, operator: TestClient, viewer: TestClient) -> None:
    assert viewer.get("/dags/etl/trigger").status_code == 403
    assert viewer.post("/dags/etl/trigger", data=TYPED).status_code == 403
    assert confs(api) == []


def test_a_param_that_was_cleared_is_empty(api: Api, operator: TestClient) -> None:
    shown = operator.post("/dags/etl/trigger", data={**TYPED, "param.city": ""})
    done = operator.post("/dags/etl/trigger", data=hidden(shown.text))
    assert confs(api) == [{"fast": True, "city": ""}]
    assert "not what the preview said" not in done.text


def test_a_default_of_several_lines_stays_as_it_is(api: Api) -> None:
    params: dict[str, JsonValue] = {"query": "SELECT 1\nFROM x"}
    seed.store(api.engine, replace(seed.dag(seed.task("a"), dag_id="sql"), params=params))
    client = api.client(api.token("olga", AccountRole.OPERATOR))
    client.headers.update(HTML)
    assert '<textarea name="param.query"' in client.get("/dags/sql/trigger").text

    shown = client.post("/dags/sql/trigger", data={"param.query": "SELECT 1\r\nFROM x"})

    assert "of its own" not in shown.text
