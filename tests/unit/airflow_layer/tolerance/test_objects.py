"""Objects among the arguments of operators: how they are stored, and how their templates render."""

from typing import Any

from headway import sdk
from headway.airflow_layer.tolerance import operators
from headway.airflow_layer.tolerance.dags import DAG
from headway.airflow_layer.tolerance.operators import TolerantOperator
from headway.sdk.harness.specification import to_spec
from headway.testing import run_dag


class Part:
    """A part of a pod, as Kubernetes' client has it."""

    def __init__(self, name: str, inner: "Part | None" = None) -> None:
        self.name = name
        self.inner = inner

    def to_dict(self) -> dict[str, Any]:
        inner = None if self.inner is None else self.inner.to_dict()
        return {"name": self.name, "inner": inner, "items": [{"key": None}]}


class Special(Part):
    """A part of a class that a provider has derived."""


class Secret:
    """What a provider attaches to a pod."""


Part.__module__ = "kubernetes.client.models.v1_part"
Secret.__module__ = "airflow.providers.cncf.kubernetes.secret"


class Renders(TolerantOperator):
    """An operator that renders objects, by the methods that Airflow's operators have for it."""

    template_fields = ("parts", "arguments")

    def __init__(self, *, parts: Any = None, arguments: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parts = parts
        self.arguments = arguments

    def _render_nested_template_fields(
        self, content: Any, context: Any, jinja_env: Any, seen_oids: set[int]
    ) -> None:
        if isinstance(content, Part):
            self._do_render_template_fields(
                content, ("name", "inner"), context, jinja_env, seen_oids
            )
            return
        super()._render_nested_template_fields(content, context, jinja_env, seen_oids)

    def execute(self, context: Any) -> Any:
        part = self.parts[0]
        return [part.name, part.inner.name, self.arguments]


class AtLast(TolerantOperator):
    """An operator that renders an attribute when it has it."""

    def __init__(self, *, sender: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sender = sender
        self.conditions = [{"of": "a provider's operator"}]

    def execute(self, context: Any) -> Any:
        self.sender = {"of": "{{ ds }}", "none": None}
        env = self.get_template_env()
        self._do_render_template_fields(self, ["sender"], context, env, set())
        return self.sender


def test_parts_of_pods_are_stored_by_their_fields_and_objects_by_their_class() -> None:
    with sdk.DAG("d") as dag:
        Renders(task_id="r", parts=[Special("a", Part("b"))], arguments=[Secret(), "x"])

    (task,) = to_spec(dag, "d.py").tasks

    inner = {"name": "b", "items": [{}]}
    assert task.arguments == {
        "parts": [{"name": "a", "inner": inner, "items": [{}]}],
        "arguments": ["Secret", "x"],
    }


PythonOperator: Any = operators.PythonOperator


class Mine:
    """An object of the DAG file's own."""

    def of(self, text: str) -> str:
        return f"mine of {text}"


def test_an_object_of_the_files_own_is_stored_by_its_class_and_given_to_the_function() -> None:
    def call(mine: Mine, table: dict[str, Any], ends: Any) -> list[str]:
        return [mine.of("a"), table["b"][0].of("b"), ends("  c")]

    with DAG("d") as dag:
        PythonOperator(
            task_id="t",
            python_callable=call,
            op_args=[Mine()],
            op_kwargs={"table": {"b": [Mine()]}, "ends": str.strip},
        )

    (task,) = to_spec(dag, "d.py").tasks
    assert task.arguments["op_args"] == ["Mine"]
    assert task.arguments["op_kwargs"] == {"table": {"b": ["Mine"]}, "ends": "str.strip"}
    assert run_dag(dag).tasks["t"].return_value == ["mine of a", "mine of b", "c"]


def test_keys_that_are_no_text_are_stored_as_text_and_given_as_they_are() -> None:
    with DAG("d") as dag:
        PythonOperator(
            task_id="t",
            python_callable=lambda table: [table[1], table[2024, 1][0][3.5]],
            op_kwargs={"table": {1: "one", (2024, 1): [{3.5: "{{ ds }}"}]}},
        )

    (task,) = to_spec(dag, "d.py").tasks
    stored = {"1": "one", "(2024, 1)": [{"3.5": "{{ ds }}"}]}
    assert task.arguments["op_kwargs"] == {"table": stored}
    result = run_dag(dag, logical_date="2024-01-05")
    assert result.tasks["t"].return_value == ["one", "2024-01-05"]


def test_mapped_tasks_are_given_objects_of_the_files_own() -> None:
    with DAG("d") as dag:
        PythonOperator.partial(
            task_id="t", python_callable=lambda mine, text: mine.of(text)
        ).expand(op_args=[[Mine(), "a"], [Mine(), "b"]])

    tasks = run_dag(dag).tasks
    assert [tasks[f"t[{nth}]"].return_value for nth in (0, 1)] == ["mine of a", "mine of b"]


def test_templates_in_objects_render_and_the_files_own_objects_stay() -> None:
    part = Part("{{ ds }}", Part("{{ ds_nodash }}"))
    with sdk.DAG("d") as dag:
        Renders(task_id="r", parts=[part], arguments=["{{ ds }}"])

    result = run_dag(dag, logical_date="2024-01-05")

    assert result.tasks["r"].return_value == ["2024-01-05", "20240105", ["2024-01-05"]]
    assert part.name == "{{ ds }}"


def test_an_operator_renders_an_attribute_while_it_runs() -> None:
    with sdk.DAG("d") as dag:
        AtLast(task_id="a")

    result = run_dag(dag, logical_date="2024-01-05")

    assert result.tasks["a"].return_value == {"of": "2024-01-05", "none": None}
