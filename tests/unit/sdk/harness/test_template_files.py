"""Template files: where they are found, what they include, and that they belong to the version."""

from collections.abc import Callable
from pathlib import Path

import pytest

from headway.domain.arguments import JsonValue
from headway.domain.errors import DagError
from headway.domain.states import Outcome
from headway.sdk import DAG
from headway.sdk.harness.execution import Result
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.task_runtime import MappedXComs

Run = Callable[..., Result]
XComs = dict[tuple[str, str], JsonValue]

HEAD = "from headway.sdk import DAG, BaseOperator, BashOperator, PythonOperator, literal, task\n"


def loaded(root: Path, source: str, **files: str) -> DAG:
    """The DAG of `dags/etl.py`; the files' names have __ for a slash, and _ before the ending."""
    for name, content in {"dags__etl_py": HEAD + source, **files}.items():
        folders, _, ending = name.replace("__", "/").rpartition("_")
        path = root / f"{folders}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (dag,) = load_dag_file(root / "dags" / "etl.py", root)
    return dag


def test_a_file_beside_the_dag_file_is_rendered_and_part_of_the_version(
    tmp_path: Path, run: Run, xcoms: XComs
) -> None:
    source = 'with DAG("flights"):\n    BashOperator(task_id="go", bash_command="scripts/go.sh")'
    dag = loaded(tmp_path, source, dags__scripts__go_sh="echo it is {{ ds }}\n")

    assert to_spec(dag, "dags/etl.py").files == ("dags/scripts/go.sh",)
    assert run(dag.get_task("go")).error is None
    assert xcoms["go", "return_value"] == "it is 2013-01-01"
    assert dag.get_task("go").bash_command == "scripts/go.sh"  # type: ignore[attr-defined]


def test_the_searchpath_comes_after_the_folder_of_the_dag_file(
    tmp_path: Path, run: Run, mapped: MappedXComs
) -> None:
    source = (
        'with DAG("flights", template_searchpath=["../lib", "../more"]):\n'
        '    BashOperator.partial(task_id="go").expand(bash_command=["a.sh", "b.sh", "c.sh"])'
    )
    dag = loaded(
        tmp_path,
        source,
        dags__a_sh="echo here",
        lib__a_sh="echo lib",
        lib__b_sh="echo lib",
        more__b_sh="echo more",
        more__c_sh="echo more",
    )

    assert to_spec(dag, "dags/etl.py").files == ("dags/a.sh", "lib/b.sh", "more/c.sh")
    for number in range(3):
        assert run(dag.get_task("go"), number).error is None
    assert mapped["go", "return_value"] == {0: "here", 1: "lib", 2: "more"}


def test_instances_of_a_mapped_task_render_their_files(
    tmp_path: Path, run: Run, mapped: MappedXComs
) -> None:
    source = (
        'with DAG("flights", template_searchpath="sql"):\n'
        '    BashOperator.partial(task_id="go").expand(bash_command=["a.sh", "echo b"])'
    )
    dag = loaded(tmp_path, source, dags__sql__a_sh="echo {{ map_index }}")

    for number in range(2):
        run(dag.get_task("go"), number)

    assert mapped["go", "return_value"] == {0: "0", 1: "b"}


def test_a_value_of_an_xcom_names_no_file(tmp_path: Path, run: Run, xcoms: XComs) -> None:
    source = (
        'with DAG("flights"):\n'
        "    @task\n"
        "    def find():\n"
        "        return []\n"
        '    BashOperator.partial(task_id="go").expand(bash_command=find())'
    )
    dag = loaded(tmp_path, source, dags__a_sh="echo from the file")

    xcoms["find", "return_value"] = ["a.sh"]

    result = run(dag.get_task("go"), 0)

    assert "exited with 127" in str(result.error)


def test_what_templates_include_is_part_of_the_version(
    tmp_path: Path, run: Run, xcoms: XComs
) -> None:
    source = (
        'with DAG("flights", template_searchpath="lib"):\n'
        '    BashOperator(task_id="go", bash_command="go.sh")\n'
        '    BashOperator(task_id="text", bash_command="echo {% include \'text.txt\' %}")'
    )
    dag = loaded(
        tmp_path,
        source,
        dags__go_sh="{% extends 'base.sh' %}{% block body %}{{ ds }}{% endblock %}",
        dags__lib__base_sh=(
            "{% from 'm.sh' import twice %}echo {% block body %}{% endblock %} {{ twice(ds) }}"
            "{% include name ignore missing %}"
        ),
        dags__lib__m_sh="{% macro twice(x) %}{{ x }}{{ x }}{% endmacro %}",
        dags__lib__text_txt="day {{ ds }}",
        dags__lib__other_txt="",
    )

    files = to_spec(dag, "dags/etl.py").files
    run(dag.get_task("go"), conf={})
    run(dag.get_task("text"))

    assert files == ("dags/go.sh", "dags/lib/base.sh", "dags/lib/m.sh", "dags/lib/text.txt")
    assert xcoms["text", "return_value"] == "day 2013-01-01"


def test_a_lazy_name_is_known_in_an_included_file(tmp_path: Path, run: Run, xcoms: XComs) -> None:
    source = (
        'with DAG("flights"):\n'
        '    BashOperator(task_id="go", bash_command="echo {% include \'day.txt\' %}")'
    )
    dag = loaded(tmp_path, source, dags__day_txt="{{ prev_schedule_date }}")

    assert run(dag.get_task("go")).error is None
    assert xcoms["go", "return_value"] == "None"


def test_a_missing_file_is_refused_and_names_what_to_do(tmp_path: Path) -> None:
    source = 'with DAG("flights"):\n    BashOperator(task_id="go", bash_command="missing.sh")'

    with pytest.raises(
        DagError,
        match=r"task 'go': bash_command names the file 'missing.sh', .* literal\('missing.sh'\)",
    ):
        to_spec(loaded(tmp_path, source), "dags/etl.py")


def test_an_included_file_that_is_missing_is_told(tmp_path: Path, run: Run) -> None:
    command = "{% include 'x.sh' %}"
    source = f'with DAG("flights"):\n    BashOperator(task_id="go", bash_command="{command}")'
    dag = loaded(tmp_path, source)
    to_spec(dag, "dags/etl.py")

    assert "there is no file 'x.sh' beside the DAG file or on" in str(run(dag.get_task("go")).error)


@pytest.mark.parametrize(
    "command", ["/no/x.sh", "~/x.sh", "$HOME/x.sh", "bash x.sh", "x.sh ", "{{ ds }}.sh"]
)
def test_other_commands_name_no_template_file(tmp_path: Path, run: Run, command: str) -> None:
    source = f'with DAG("flights"):\n    BashOperator(task_id="go", bash_command="{command}")'
    dag = loaded(tmp_path, source)

    assert to_spec(dag, "dags/etl.py").files == ()
    assert "The command exited with" in str(run(dag.get_task("go")).error)


def test_a_literal_is_no_template_and_names_no_file(tmp_path: Path, run: Run, xcoms: XComs) -> None:
    source = (
        "class Show(BaseOperator):\n"
        '    template_fields = ("value",)\n'
        '    template_ext = (".txt",)\n'
        "    def __init__(self, value, **named):\n"
        "        super().__init__(**named)\n"
        "        self.value = value\n"
        "    def execute(self, context):\n"
        "        return [self.value, type(self.value).__name__]\n"
        'with DAG("flights", render_template_as_native_obj=True):\n'
        '    Show(task_id="a", value=literal("day.txt"))\n'
        '    Show(task_id="b", value=literal("{{ ds }}"))\n'
        '    Show(task_id="c", value=["{{ 1 + 1 }}", literal(["{{ a }}", 3])])\n'
    )
    dag = loaded(tmp_path, source, dags__day_txt="never")

    spec = to_spec(dag, "dags/etl.py")
    for task in dag.tasks:
        assert run(task).error is None

    assert spec.files == ()
    assert spec.task("b").arguments["value"] == "{{ ds }}"
    assert xcoms["a", "return_value"] == ["day.txt", "str"]
    assert xcoms["b", "return_value"] == ["{{ ds }}", "str"]
    assert xcoms["c", "return_value"] == [[2, ["{{ a }}", 3]], "list"]


def test_a_folder_outside_of_the_bundle_is_refused(tmp_path: Path) -> None:
    source = 'with DAG("flights", template_searchpath="/no/where"):\n    pass'

    with pytest.raises(DagError, match="template_searchpath names '/no/where', which is outside"):
        to_spec(loaded(tmp_path, source), "dags/etl.py")


def test_a_file_outside_of_the_bundle_is_no_template_file(tmp_path: Path) -> None:
    (tmp_path / "outside.sh").write_text("true")
    source = 'with DAG("flights"):\n    BashOperator(task_id="go", bash_command="../../outside.sh")'

    with pytest.raises(DagError, match=r"names the file '../../outside.sh', and there is none"):
        to_spec(loaded(tmp_path / "bundle", source), "dags/etl.py")


def test_an_operator_may_change_what_its_files_hold(tmp_path: Path, run: Run, xcoms: XComs) -> None:
    source = (
        "class Show(BaseOperator):\n"
        '    template_fields = ("value", "more")\n'
        '    template_ext = (".txt",)\n'
        '    template_fields_renderers = {"value": "bash"}\n'
        "    def __init__(self, value, more=None, **kwargs):\n"
        "        super().__init__(**kwargs)\n"
        "        self.value, self.more = value, more\n"
        "    def prepare_template(self):\n"
        '        self.value = self.value + "!{{ ds }}"\n'
        "    def execute(self, context):\n"
        "        return [self.value, self.more]\n"
        'with DAG("flights"):\n'
        '    Show(task_id="go", value="a.txt", more={"x": ["a.txt", "no.txt"]})'
    )
    dag = loaded(tmp_path, source, dags__a_txt="{{ run_id }}")

    assert to_spec(dag, "dags/etl.py").files == ("dags/a.txt",)
    assert run(dag.get_task("go")).error is None
    assert xcoms["go", "return_value"] == [
        "scheduled__2013-01-01!2013-01-01",
        {"x": ["scheduled__2013-01-01", "no.txt"]},
    ]


def test_templates_of_a_function_may_be_files(tmp_path: Path, run: Run, xcoms: XComs) -> None:
    source = (
        'with DAG("flights"):\n'
        '    @task(templates_dict={"query": "a.sql", "day": "{{ ds }}"}, templates_exts=[".sql"])\n'
        "    def go(templates_dict, **kwargs):\n"
        '        return [templates_dict, kwargs.get("templates_dict")]\n'
        "    go()"
    )
    dag = loaded(tmp_path, source, dags__a_sql="SELECT '{{ ds }}'")

    assert to_spec(dag, "dags/etl.py").files == ("dags/a.sql",)
    assert run(dag.get_task("go")).error is None
    assert xcoms["go", "return_value"] == [
        {"query": "SELECT '2013-01-01'", "day": "2013-01-01"},
        None,
    ]


def test_an_error_names_the_file_and_its_line(tmp_path: Path, run: Run) -> None:
    source = 'with DAG("flights"):\n    BashOperator(task_id="go", bash_command="a.sh")'
    dag = loaded(tmp_path, source, dags__a_sh="true\n{{ nowhere }}\n")

    result = run(dag.get_task("go"))

    assert result.outcome is Outcome.FAILED
    assert "bash_command, file 'a.sh', line 2: the template does not render" in str(result.error)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    source = 'with DAG("flights"):\n    BashOperator(task_id="go", bash_command="a.sh")'
    dag = loaded(tmp_path, source)
    (tmp_path / "dags" / "a.sh").write_bytes(b"\xff\xfe")

    with pytest.raises(DagError, match=r"The template file 'a.sh' is no text in UTF-8"):
        to_spec(dag, "dags/etl.py")
