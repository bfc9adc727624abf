"""Templates: what they know, how they nest, and what a broken one says."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.states import Outcome
from headway.sdk import DAG, BaseOperator, BashOperator, Context, PythonOperator
from headway.sdk.context.templates import is_static
from headway.sdk.harness.execution import Result
from headway.sdk.xcoms.codec import decode_xcom

Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]


class Show(BaseOperator):
    """Return its only field."""

    template_fields: ClassVar[tuple[str, ...]] = ("value",)

    def __init__(self, *, value: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.value = value

    def execute(self, context: Context) -> Any:
        return self.value


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ ds }} {{ ds_nodash }}", "2013-01-01 20130101"),
        ("{{ ts }}", "2013-01-01T05:00:00+00:00"),
        ("{{ ts_nodash }} {{ ts_nodash_with_tz }}", "20130101T050000 20130101T050000+0000"),
        ("{{ data_interval_end | ds }}", "2013-01-02"),
        ("{{ data_interval_end | ts_nodash }}", "20130102T050000"),
        ("{{ data_interval_start.add(days=1).to_date_string() }}", "2013-01-02"),
        ("{{ data_interval_start.timezone_name }}", "UTC"),
        ("{{ logical_date.year }}", "2013"),
        (
            "{{ run_id }} {{ dag_run.run_id }} {{ ti.run_id }}",
            " ".join(["scheduled__2013-01-01"] * 3),
        ),
        ("{{ dag.dag_id }} {{ ti.dag_id }} {{ dag_run.dag_id }}", "flights flights flights"),
        ("{{ task.task_id }} {{ ti.task_id }} {{ task_instance.task_id }}", "show show show"),
        ("{{ try_number }} {{ ti.try_number }} {{ ti.map_index }}", "2 2 -1"),
        ("{{ params.carrier }} {{ params['limit'] }}", "AA 3"),
        ("{{ dag_run.conf.carrier }} {{ dag_run.run_type }}", "AA manual"),
        ("{{ macros.ds_add(ds, -1) }}", "2012-12-31"),
        ("{{ macros.ds_format(ds, '%Y-%m-%d', '%d.%m.%y') }}", "01.01.13"),
        ("{{ logical_date + macros.timedelta(hours=1) }}", "2013-01-01 06:00:00+00:00"),
        ("{{ ti.xcom_pull('land') }} {{ ti.xcom_pull(task_ids='no', default='-') }}", "/a -"),
        ("{{ ti.xcom_pull(['land', 'no'])[0] }}", "/a"),
        ("{# nothing #}{% if true %}yes{% endif %}", "yes"),
        ("no template", "no template"),
    ],
)
def test_what_a_template_knows(
    dag: DAG, run: Run, xcoms: XComs, template: str, expected: str
) -> None:
    xcoms["land", "return_value"] = "/a"

    result = run(Show(task_id="show", value=template), conf={"carrier": "AA"})

    assert (result.error, xcoms["show", "return_value"]) == (None, expected)


def test_containers_are_rendered_inside(dag: DAG, run: Run, xcoms: XComs) -> None:
    value = {"{{ ds }}": ["{{ ds }}", ("{{ run_id }}", 3, None)]}

    run(Show(task_id="show", value=value))

    assert decode_xcom(xcoms["show", "return_value"], "It") == {
        "{{ ds }}": ["2013-01-01", ("scheduled__2013-01-01", 3, None)]
    }


class Pair(NamedTuple):
    first: str
    second: str


def test_containers_keep_their_types(dag: DAG, run: Run, xcoms: XComs) -> None:
    value = [Pair("{{ ds }}", "b"), frozenset(["{{ ds }}"]), {"{{ ds }}"}]

    run(PythonOperator(task_id="show", python_callable=repr, op_args=[value]))

    assert xcoms["show", "return_value"] == (
        "[Pair(first='2013-01-01', second='b'), frozenset({'2013-01-01'}), {'2013-01-01'}]"
    )


def test_rendering_leaves_the_task_itself_alone(dag: DAG, run: Run) -> None:
    show = Show(task_id="show", value="{{ ds }}")

    run(show)

    assert show.value == "{{ ds }}"


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ dss }}", ", line 1: the template does not render: 'dss' is undefined. Did you"),
        ("\n{{ nowhere }}", "line 2: .* 'nowhere' is undefined. Known names: conn, dag, "),
        ("a\nb\n{% if %}", "line 3: the template does not render: Expected an expression"),
        ("{{ params.carier }}", "has no attribute 'carier'"),
        ("{{ 1 / 0 }}", "line 1: the template does not render: division by zero"),
        ("\n\n{{ ds + 1 }}", "line 3: the template does not render: can only concatenate str"),
        ("{{ ds.__class__.__mro__ }}", "access to attribute '__class__' .* is unsafe"),
    ],
)
def test_a_template_that_does_not_render_fails_the_task_in_one_message(
    dag: DAG, run: Run, template: str, message: str
) -> None:
    result = run(Show(task_id="show", value=["fine", template]))

    assert (result.outcome, result.traceback) == (Outcome.FAILED, None)
    with pytest.raises(AssertionError, match=f"^DAG 'flights', task 'show': value.*{message}"):
        raise AssertionError(result.error)


def test_the_field_is_named(dag: DAG, run: Run) -> None:
    result = run(BashOperator(task_id="show", bash_command="true", env={"A": "{{ x }}"}))

    assert "task 'show': env, line 1" in str(result.error)


def test_arguments_of_functions_are_rendered(dag: DAG, run: Run, xcoms: XComs) -> None:
    def show(*args: str, **kwargs: str) -> list[str]:
        return [*args, kwargs["day"]]

    task = PythonOperator(
        task_id="show", python_callable=show, op_args=["{{ ds }}"], op_kwargs={"day": "{{ ts }}"}
    )
    run(task)

    assert xcoms["show", "return_value"] == ["2013-01-01", "2013-01-01T05:00:00+00:00"]


def test_what_is_known_before_the_run_is_static(dag: DAG) -> None:
    output = BashOperator(task_id="land", bash_command="true").output

    assert is_static({"a": [1, "b"]})
    assert not is_static({"a": ["{{ ds }}"]})
    assert not is_static([output])


def test_text_without_templates_never_loads_the_engine() -> None:
    program = (
        "import sys\n"
        "from headway.sdk.running.context import Context\n"
        "from headway.sdk.context.templates import render\n"
        "assert render(['plain', 1], Context({}, None), 'x') == ['plain', 1]\n"
        "assert 'jinja2' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_task_renders_what_it_has_only_when_it_runs(
    dag: DAG, run: Run, xcoms: dict[tuple[str, str], JsonValue]
) -> None:
    class Late(BaseOperator):
        def execute(self, context: Context) -> Any:
            return self.render_template({"day": ["{{ ds }}"], "task": "{{ ti.task_id }}"}, context)

    assert run(Late(task_id="late")).outcome is Outcome.SUCCESS
    assert xcoms["late", "return_value"] == {"day": ["2013-01-01"], "task": "late"}
