"""Which confs the params of a DAG allow, and which defaults a schedule does."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.dag.param_schema import ParamSchema
from headway.domain.dag.params import check_conf, check_declared, known_params
from headway.domain.dag.spec import DagSpec, TaskSpec, TimetableSpec
from headway.domain.errors import DagError, RequestError

LIMIT = ParamSchema(name="limit", schema={"type": "integer", "maximum": 10}, description="Rows")
TABLE = ParamSchema(name="table", schema={"type": "string"})
PLAIN = ParamSchema(name="city")


def dag(
    params: Mapping[str, JsonValue],
    *schemas: ParamSchema,
    timetable: str = "null",
    task: TaskSpec | None = None,
) -> DagSpec:
    return DagSpec(
        dag_id="etl",
        relative_path="etl.py",
        timetable=TimetableSpec(name=timetable),
        timezone="UTC",
        tasks=(task or TaskSpec(task_id="load", operator="empty"),),
        params=params,
        param_schemas=schemas,
    )


TYPED = dag({"limit": 3, "city": "Oslo"}, LIMIT, PLAIN)


@pytest.mark.parametrize(
    "conf", [{}, {"limit": 10}, {"city": None}, {"city": 5, "limit": 0}]
)  # fmt: skip
def test_a_conf_that_fits(conf: Mapping[str, JsonValue]) -> None:
    check_conf(TYPED, conf)


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ({"limit": 11}, "^DAG etl: param 'limit' is 11 and must be at most 10; correct the conf.$"),
        ({"limit": "3"}, "param 'limit' is '3' and must be a whole number"),
        ({"limt": 3}, "^DAG etl has no param 'limt' for 3; did you mean limit"),
        ({"zzz": 3}, "has no param 'zzz' for 3; known: limit, city.$"),
        ({"db_token": "x"}, "has no param 'db_token'; known"),
    ],
)
def test_a_conf_that_does_not(conf: Mapping[str, JsonValue], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        check_conf(TYPED, conf)


def test_without_a_schema_a_conf_has_what_it_likes() -> None:
    check_conf(dag({"limit": 3}), {"limit": "many", "other": 1})


def test_a_param_without_a_default_is_needed() -> None:
    needing = dag({}, TABLE)

    with pytest.raises(RequestError, match="param 'table' has no value and must have one: text"):
        check_conf(needing, {})
    check_conf(needing, {"table": "flights"})


def test_a_secret_value_is_not_shown() -> None:
    spec = dag({}, ParamSchema(name="api_token", schema={"minLength": 9}))

    with pytest.raises(RequestError, match="'api_token' is not shown here, and must be") as refused:
        check_conf(spec, {"api_token": "hunter2"})
    assert "hunter2" not in str(refused.value)


def test_params_of_a_task_are_over_those_of_its_dag_and_below_the_conf() -> None:
    task = TaskSpec(task_id="load", operator="empty", params={"limit": 5}, param_schemas=(LIMIT,))
    spec = dag({"limit": 300}, task=task)

    check_conf(spec, {})
    with pytest.raises(RequestError, match=r"has no param 'limt' for 1; did you mean limit\?$"):
        check_conf(spec, {"limt": 1})
    with pytest.raises(RequestError, match="DAG etl, task load: param 'limit' is 11 and must"):
        check_conf(spec, {"limit": 11})


def test_a_schedule_wants_defaults_that_fit() -> None:
    for spec, message in (
        (dag({}, TABLE, timetable="cron"), "'table' has no value and must have one: text; give"),
        (dag({"limit": 30}, LIMIT, timetable="cron"), "is 30 and must be at most 10; give it"),
    ):
        with pytest.raises(DagError, match=message):
            check_declared(spec)
        check_declared(replace(spec, timetable=TimetableSpec(name="null")))


def test_a_pattern_is_tried_even_without_a_schedule() -> None:
    spec = dag({}, ParamSchema(name="x", schema={"pattern": "("}))

    with pytest.raises(DagError, match="DAG etl: param 'x': the pattern '\\(' cannot be used"):
        check_declared(spec)


def test_all_that_is_known_of_params() -> None:
    spec = dag({"city": "Oslo", "limit": 30}, LIMIT, TABLE, PLAIN)

    known = {it.name: (it.kind, it.value, it.is_required, it.told) for it in known_params(spec)}

    assert list(known) == ["limit", "table", "city"]
    assert known == {
        "limit": ("a whole number", 30, True, "Rows"),
        "table": ("text", None, True, ""),
        "city": ("text", "Oslo", False, ""),
    }
