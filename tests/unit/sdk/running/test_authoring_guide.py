"""The guide for authors: its example works, and it leaves nothing out."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import headway.sdk
from headway.domain.dag.callbacks import CallbackEvent
from headway.domain.dag.trigger_rules import TriggerRule
from headway.domain.dag.weights import WeightRule
from headway.domain.schemas.formats import FORMATS
from headway.domain.schemas.keywords import KEYWORDS
from headway.domain.states import Outcome
from headway.sdk import DAG
from headway.sdk.authoring.callbacks import call
from headway.sdk.authoring.options import DAG_OPTIONS
from headway.sdk.authoring.task_options import TASK_OPTIONS
from headway.sdk.harness.execution import Result
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec
from headway.sdk.running.context import CONTEXT_NAMES, Context
from headway.sdk.running.task_runtime import LocalRuntime, MappedXComs, SparkApplication, XComs
from headway.testing import run_dag

NO_USE = {"description", "default", "$schema", "$comment"}
"""Keywords that a param has by other means, or that say nothing to anybody."""

GUIDE = (Path(__file__).parents[4] / "docs" / "authoring.md").read_text()


WISHES = {
    wish: (source, said)
    for wish, source, said in re.findall(
        r"^### … ([^\n]+)\n\n```python\n(.*?)```\n\n\*\*Log\*\*: `([^`]+)`",
        GUIDE,
        re.DOTALL | re.MULTILINE,
    )
}
"""What an author may want to do: the example, and what it logs."""


def example(number: int, folder: Path) -> DAG:
    """The DAG of an example of the guide, read from a file."""
    found = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    (folder / "example.py").write_text(found[number])
    (dag,) = load_dag_file(folder / "example.py", folder)
    return dag


def example_of(heading: str, folder: Path) -> DAG:
    """The DAG of the example below a heading of the guide."""
    before = GUIDE.split(f"\n## {heading}\n")[0]
    return example(before.count("```python"), folder)


def test_the_example_runs(tmp_path: Path, run: Callable[..., Result], xcoms: XComs) -> None:
    dag = example(0, tmp_path)
    spec = to_spec(dag, "example.py")
    outcomes = [run(dag.get_task(task.task_id)).outcome for task in spec.tasks]

    assert outcomes == [Outcome.SUCCESS] * 2
    assert spec.timezone == "America/New_York"
    assert xcoms["count", "return_value"] == (
        "would count the rows of /data/flights/2013-01-01.parquet in run scheduled__2013-01-01"
    )


@pytest.mark.parametrize("wish", WISHES)
def test_what_an_author_wants_to_do_runs_and_says_what_the_guide_says(
    wish: str, tmp_path: Path
) -> None:
    source, said = WISHES[wish]
    (tmp_path / "example.py").write_text(source)
    (dag,) = load_dag_file(tmp_path / "example.py", tmp_path)
    result = run_dag(
        dag,
        logical_date="2024-01-05",
        connections={"shop": "http://shop.example"},
        variables={"region": "eu"},
    )

    assert result.state == "success"
    assert said in result.log


def test_each_wish_has_an_example_and_its_log() -> None:
    headings = re.findall(r"^### … (.+)$", GUIDE, re.MULTILINE)

    assert len(headings) >= 15
    assert list(WISHES) == headings


def test_the_example_of_mapped_tasks_runs(
    tmp_path: Path,
    run: Callable[..., Result],
    xcoms: XComs,
    mapped: MappedXComs,
) -> None:
    dag = example_of("Mapped tasks", tmp_path)
    order = [("find", -1), ("count", 0), ("count", 1), ("add", -1), ("show", 0), ("show", 1)]
    outcomes = [run(dag.get_task(task_id), map_index).outcome for task_id, map_index in order]

    assert {task.task_id for task in to_spec(dag, "example.py").tasks} == dict(order).keys()
    assert outcomes == [Outcome.SUCCESS] * 6
    assert xcoms["add", "return_value"] == 2 * len("/data/a.csvUA")
    assert mapped["show", "return_value"] == {0: "a", 1: "b"}


def test_the_example_of_a_block_lies_between_setup_and_teardown(tmp_path: Path) -> None:
    dag = example_of("Setups and teardowns", tmp_path)

    upstream = {task.task_id: task.upstream for task in to_spec(dag, "example.py").tasks}
    assert upstream == {
        "create": (),
        "land": ("create",),
        "count": ("land",),
        "delete": ("count", "create"),
    }


def test_the_example_of_another_python_is_read(tmp_path: Path) -> None:
    spec = to_spec(example_of("Another Python", tmp_path), "example.py")

    assert [task.operator for task in spec.tasks] == ["python_virtualenv"]


def test_the_example_of_groups_is_read(tmp_path: Path) -> None:
    spec = to_spec(example_of("Groups", tmp_path), "example.py")

    assert {task.task_id: task.upstream for task in spec.tasks} == {
        "carrier.land": (),
        "carrier.count": ("carrier.land",),
        "carrier__1.land": (),
        "carrier__1.count": ("carrier__1.land",),
        "report.page": ("carrier.count", "carrier__1.count"),
        "report.mail": ("report.page",),
    }
    assert [group.tooltip for group in spec.groups] == [
        "What people read",
        "All of one carrier.",
        "All of one carrier.",
    ]
    assert spec.task("report.mail").retries == 3


def test_the_example_of_sql_is_read(tmp_path: Path) -> None:
    dag = example_of("SQL", tmp_path)

    assert [task.task_id for task in to_spec(dag, "example.py").tasks] == ["load", "worst"]


def test_the_example_of_dynamic_dags_follows_what_lies_outside(tmp_path: Path) -> None:
    clients = tmp_path / "clients.txt"
    written = GUIDE.split("\n## Dynamic DAGs\n")[1].split("```python\n")[1].split("```")[0]
    (tmp_path / "example.py").write_text(written.replace("/data/clients.txt", str(clients)))
    found = []
    for content in ("a b", "a c d"):
        clients.write_text(content)
        (dag,) = load_dag_file(tmp_path / "example.py", tmp_path)
        spec = to_spec(dag, "example.py")
        found.append([task.task_id for task in spec.tasks])

    assert found == [["a", "b"], ["a", "c", "d"]]
    assert (spec.dynamic, spec.reparse_on_run, spec.min_file_process_interval) == (True, True, 60)


def test_the_example_of_callbacks_has_functions_for_what_it_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dag = example_of("Callbacks", tmp_path)
    spec = to_spec(dag, "example.py")
    run: dict[str, object] = {"run_id": "r", "reason": "task_failure"}

    assert call(dag.calls_on[CallbackEvent.FAILURE], Context(run, LocalRuntime("t"))) == []

    assert spec.callbacks == (CallbackEvent.FAILURE,)
    assert [task.callbacks for task in spec.tasks] == [(CallbackEvent.FAILURE, CallbackEvent.RETRY)]
    assert capsys.readouterr().out == "would tell somebody about r: task_failure, None\n"


def test_the_example_of_params_runs(
    tmp_path: Path, run: Callable[..., Result], xcoms: XComs
) -> None:
    dag = example_of("Params", tmp_path)
    spec = to_spec(dag, "example.py")

    run(dag.get_task("count"), conf={"table": "planes", "rows": 5})

    assert spec.params == {"rows": 100, "mode": "full", "table": "flights"}
    assert xcoms["count", "return_value"] == "5 rows of planes, full"


def test_every_keyword_and_format_of_a_param_is_in_the_guide() -> None:
    section = GUIDE.split("## Params", 1)[1].split("\n## ", 1)[0]
    mentioned = set(re.findall(r"`([A-Za-z0-9_-]+)`", section))

    assert {name for name in KEYWORDS if name not in NO_USE} - mentioned == set()
    assert FORMATS.keys() - mentioned == set()


def test_every_name_is_in_the_guide() -> None:
    mentioned = set(re.findall(r"`([A-Za-z_]+)`", GUIDE))
    names = {
        *headway.sdk.__all__,
        *DAG_OPTIONS,
        *TASK_OPTIONS,
        *CONTEXT_NAMES,
        *SparkApplication.__dataclass_fields__,
        *(str(rule) for rule in TriggerRule),
        *(str(rule) for rule in WeightRule),
    }

    assert names - mentioned == set()


def test_the_example_of_triggering_runs_as_a_test(
    tmp_path: Path, run: Callable[..., Result]
) -> None:
    dag = example_of("Triggering other DAGs", tmp_path)

    result = run(dag.get_task("report"))

    assert result.outcome is Outcome.SUCCESS, result.error
    assert to_spec(dag, "example.py").tasks[0].arguments["wait_for_completion"] is True
