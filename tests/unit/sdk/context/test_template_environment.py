"""What a DAG gives to its templates: macros, filters, objects instead of text, options of Jinja."""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, ClassVar

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError
from headway.sdk import DAG, BaseOperator, Context, task
from headway.sdk.harness.execution import Result
from headway.sdk.running.task_runtime import MappedXComs

Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]


class ShowField(BaseOperator):
    """Return its only field."""

    template_fields: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, *, value: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.value = value

    def execute(self, context: Context) -> Any:
        return self.value


def show(run: Run, xcoms: XComs, value: Any, **options: Any) -> JsonValue:
    """What a value is after it was rendered in a DAG of these options."""
    with DAG("flights", **options):
        shown = ShowField(task_id="show", value=value)
    result = run(shown)
    assert result.error is None
    return xcoms["show", "return_value"]


def test_macros_and_filters_of_a_dag(run: Run, xcoms: XComs) -> None:
    found = show(
        run,
        xcoms,
        "{{ twice(team) | loud }}",
        user_defined_macros={"twice": lambda it: it * 2, "team": "ab"},
        user_defined_filters={"loud": str.upper},
    )

    assert found == "ABAB"


def test_macros_may_be_added_later(run: Run, xcoms: XComs) -> None:
    macros: dict[str, Any] = {}
    with DAG("flights", user_defined_macros=macros) as dag:
        macros["team"] = "late"
        shown = ShowField(task_id="show", value="{{ team }} {{ more }}")
    dag.user_defined_macros["more"] = 1
    run(shown)

    assert xcoms["show", "return_value"] == "late 1"


def test_a_name_of_a_macro_is_suggested(run: Run) -> None:
    with DAG("flights", user_defined_macros={"region": "eu"}):
        shown = ShowField(task_id="show", value="{{ regoin }}")

    assert "Did you mean region?" in str(run(shown).error)


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{ [1, 2] }}", [1, 2]),
        ("{{ params.rows }}", {"a": 1}),
        ("{{ ds }}", "2013-01-01"),
        ("3", 3),
        ("{{ 1 }}{{ 2 }}", 12),
        (["{{ none }}", "x"], [None, "x"]),
    ],
)
def test_native_objects(run: Run, xcoms: XComs, template: Any, value: Any) -> None:
    params = {"rows": {"a": 1}}

    found = show(run, xcoms, template, render_template_as_native_obj=True, params=params)

    assert found == value


def test_values_of_xcoms_are_no_templates_for_objects_either(
    run: Run, xcoms: XComs, mapped: MappedXComs
) -> None:
    with DAG("flights", render_template_as_native_obj=True):

        @task
        def find() -> list[str]:
            return []

        @task
        def keep(item: str) -> str:
            return repr(item)

        kept = keep.expand(item=find())
    xcoms["find", "return_value"] = ["3"]

    assert run(kept, 0).error is None
    assert mapped["keep", "return_value"] == {0: "'3'"}


def test_native_objects_keep_the_sandbox(run: Run) -> None:
    with DAG("flights", render_template_as_native_obj=True):
        shown = ShowField(task_id="show", value="{{ ds.__class__.__mro__ }}")

    assert "is unsafe" in str(run(shown).error)


def test_options_of_jinja(run: Run, xcoms: XComs) -> None:
    options = {"variable_start_string": "<<", "variable_end_string": ">>"}

    found = show(run, xcoms, "<< ds >> {{ ds }}", jinja_environment_kwargs=options)

    assert found == "2013-01-01 {{ ds }}"


def test_a_wrong_option_of_jinja_is_told(run: Run) -> None:
    with DAG("flights", jinja_environment_kwargs={"nowhere": 1}):
        shown = ShowField(task_id="show", value="x")

    assert "DAG 'flights': jinja_environment_kwargs: " in str(run(shown).error)


def test_statements_without_output(run: Run, xcoms: XComs) -> None:
    found = show(run, xcoms, "{% set found = [] %}{% do found.append(1) %}{{ found }}")

    assert found == "[1]"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"template_searchpath": 3}, "template_searchpath must be a folder or a list of them"),
        ({"template_searchpath": [3]}, "template_searchpath must be a string"),
        ({"user_defined_macros": [1]}, "user_defined_macros must be a dictionary"),
        ({"user_defined_filters": {1: str}}, "user_defined_filters must be a dictionary"),
        ({"render_template_as_native_obj": "yes"}, "render_template_as_native_obj must be"),
        ({"jinja_environment_kwargs": 1}, "jinja_environment_kwargs must be a dictionary"),
    ],
)
def test_what_a_dag_gives_is_checked(options: Any, message: str) -> None:
    with pytest.raises(DagError, match=f"DAG 'flights': {message}"):
        DAG("flights", **options)


def test_fields_of_an_object_are_rendered(dag: DAG, run: Run, xcoms: XComs) -> None:
    class Query:
        template_fields = ("text", "parts")

        def __init__(self, text: str, parts: list[Any]) -> None:
            self.text, self.parts = text, parts

    class Runs(BaseOperator):
        template_fields: ClassVar[tuple[str, ...]] = ("query",)

        def __init__(self, *, text: str, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.query = Query(text, [Query("{{ run_id }}", [])])

        def execute(self, context: Context) -> list[str]:
            return [self.query.text, self.query.parts[0].text]

    runs = Runs(task_id="runs", text="{{ ds }}")
    assert isinstance(runs, Runs)
    run(runs)

    assert xcoms["runs", "return_value"] == ["2013-01-01", "scheduled__2013-01-01"]
    assert runs.query.text == "{{ ds }}"


def test_a_function_that_makes_a_command_names_no_file(dag: DAG, run: Run) -> None:
    @task.bash
    def command() -> str:
        return "missing.sh"

    assert "exited with 127" in str(run(command()).error)


MACROS = {
    "macros.datetime(2013, 1, 2).isoformat()": "2013-01-02T00:00:00",
    "macros.timedelta(days=1)": "1 day, 0:00:00",
    "macros.dateutil.parser.parse('3 May 2013').isoformat()": "2013-05-03T00:00:00",
    "macros.dateutil.relativedelta.relativedelta(months=1).months": "1",
    "macros.time.strftime('%Y', macros.time.gmtime(0))": "1970",
    "macros.uuid.UUID(int=1)": "00000000-0000-0000-0000-000000000001",
    "0 <= macros.random() < 1": "True",
    "macros.json.dumps({'a': [1]})": '{"a": [1]}',
    "macros.datetime_diff_for_humans(data_interval_end, data_interval_start)": "1 day after",
    "task_instance_key_str": "flights__show__20130101",
    "test_mode": "False",
}


@pytest.mark.parametrize("expression", MACROS)
def test_macros(dag: DAG, run: Run, xcoms: XComs, expression: str) -> None:
    result = run(ShowField(task_id="show", value=f"{{{{ {expression} }}}}"))

    assert (result.error, xcoms["show", "return_value"]) == (None, MACROS[expression])


def test_modules_of_macros_lead_to_no_others(dag: DAG, run: Run) -> None:
    result = run(ShowField(task_id="show", value="{{ macros.uuid.os.getpid() }}"))

    assert "access to attribute 'os' of 'module' object is unsafe" in str(result.error)


def test_a_language_needs_babel(dag: DAG, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    template = "{{ macros.ds_format_locale(ds, '%Y-%m-%d', 'EEEE', 'de') }}"
    monkeypatch.setitem(sys.modules, "babel.dates", None)

    assert "needs Babel" in str(run(ShowField(task_id="show", value=template)).error)


def test_a_date_in_a_language(
    dag: DAG, run: Run, xcoms: XComs, monkeypatch: pytest.MonkeyPatch
) -> None:
    babel = ModuleType("babel.dates")
    vars(babel)["format_datetime"] = lambda date, form, locale: f"{date:%d} {form} {locale}"
    monkeypatch.setitem(sys.modules, "babel", ModuleType("babel"))
    monkeypatch.setitem(sys.modules, "babel.dates", babel)

    run(ShowField(task_id="show", value="{{ macros.ds_format_locale(ds, '%Y-%m-%d', 'EEEE') }}"))

    assert xcoms["show", "return_value"] == "01 EEEE en_US"
