"""Every way to make a task, in a DAG of a `with` block and in one of a decorated function."""

from collections.abc import Sequence
from typing import Any, ClassVar

from headway.sdk import (
    DAG,
    BaseOperator,
    BashOperator,
    Context,
    EmptyOperator,
    PythonOperator,
    dag,
    get_current_context,
    task,
)


class Shout(BaseOperator):
    """An operator of a user's own, with a field to render."""

    template_fields: ClassVar[Sequence[str]] = ("words",)

    def __init__(self, words: str, **options: Any) -> None:
        super().__init__(**options)
        self.words = words

    def execute(self, context: Context) -> str:
        return f"{self.words.upper()} ON ATTEMPT {context['ti'].try_number}"


def add(left: int, right: int = 0, **context: Any) -> dict[str, Any]:
    return {"sum": left + right, "task": context["ti"].task_id}


with DAG(
    "with_block",
    tags=["north", "east"],
    description="Kinds of tasks",
    doc_md="# Kinds of tasks",
    params={"carrier": "UA", "limit": 3},
    default_args={"retries": 1, "retry_delay": 0, "append_env": True},
):

    @task
    def decorated(params: dict[str, Any], run_id: str) -> str:
        assert get_current_context()["run_id"] == run_id
        return f"{params['carrier']} {params['limit']}"

    @task.bash(env={"CITY": "Newark"})
    def decorated_bash() -> str:
        return "echo from $CITY, {{ params.carrier }}"

    decorated()
    decorated_bash()
    BashOperator(task_id="bash", bash_command="echo one; echo two; pwd; echo three", retries=0)
    PythonOperator(task_id="python", python_callable=add, op_args=[3], op_kwargs={"right": 4})
    EmptyOperator(task_id="empty", doc_md="Nothing at all")
    Shout(task_id="own", words="{{ params.carrier }} flies")


@dag(schedule=None)
def of_a_function(greeting: str = "hello") -> None:
    """A DAG that a function makes."""

    @task(task_id="greet")
    def make_greeting(words: str) -> str:
        return words

    make_greeting(greeting)


of_a_function("good day")
