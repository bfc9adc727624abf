"""`headway tasks test` runs one task in its own process."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.local.task_test import parse_params, parse_xcoms
from headway.cli.main import app
from headway.cli.screen.errors import message, status_of
from headway.domain.errors import HeadwayError, RequestError

DAG_FILE = """
import pendulum
from headway.sdk import DAG, task

with DAG("trial", schedule="@daily", start_date=pendulum.datetime(2024, 1, 1), params={"last": 2}):
    @task
    def plan(ds, params, test_mode):
        return [ds, params["last"], test_mode]
    @task
    def show(x, ti):
        return [x, ti.xcom_pull("plan", key="rows", default=0)]
    @task
    def add(xs):
        return sum(xs)
    @task
    def skips():
        from headway.sdk.exceptions import AirflowSkipException
        raise AirflowSkipException("nothing new")
    @task
    def fails(total):
        raise ValueError(total)
    planned = plan()
    shown = show.expand(x=planned)
    fails(add(shown)) >> skips()
"""


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "trial.py").write_text(DAG_FILE)
    return tmp_path / "trial.py"


def run(file: Path, *arguments: str) -> tuple[int, list[str]]:
    """Run the command; return its status, and what it has said, its error last."""
    result = CliRunner().invoke(app, ["tasks", "test", str(file), "trial", *arguments])
    lines = result.output.splitlines()
    if isinstance(result.exception, HeadwayError):
        return status_of(result.exception), [*lines, message(result.exception)]
    return result.exit_code, lines


def test_a_task_runs_for_a_day_with_params_and_what_it_leaves_is_printed(file: Path) -> None:
    status, lines = run(file, "plan", "2024-01-05", "--conf", '{"a": 1}', "--param", "last=7")

    assert status == 0
    assert lines == [
        "[plan] running",
        "[plan] success",
        '[plan] return_value = ["2024-01-05", 7, true]',
    ]


def test_an_instance_of_a_mapped_task_gets_its_item(file: Path) -> None:
    given = ("--xcom", 'plan=["a", "b"]', "--xcom", "plan:rows=3")
    status, lines = run(file, "show", "--map-index", "1", *given)

    assert (status, lines[-1]) == (0, '[show[1]] return_value = ["b", 3]')


def test_what_is_given_for_a_task_at_all_is_all_that_it_left(file: Path) -> None:
    _, lines = run(file, "show", "--map-index", "0", "--xcom", 'plan=["a"]')

    assert lines[-1] == '[show[0]] return_value = ["a", 0]'


def test_the_results_of_a_mapped_task_are_a_list(file: Path) -> None:
    assert run(file, "add", "--xcom", "show=[1, 2]")[1][-1] == "[add] return_value = 3"
    status, lines = run(file, "add", "--xcom", "show=3")
    assert status == 5
    assert "must be a list, as the task is mapped" in lines[-1]


@pytest.mark.parametrize("task_id", ["add", "fails"])
def test_an_xcom_that_is_missing_is_an_error_that_says_so(task_id: str, file: Path) -> None:
    status, lines = run(file, task_id)
    source = {"add": "show", "fails": "add"}[task_id]

    assert status == 1
    assert f"Task '{task_id}' needs the XCom 'return_value' of task '{source}'" in lines[-1]
    assert f"--xcom {source}=JSON" in lines[-1]


def test_a_mapped_task_says_which_xcom_it_is_mapped_over(file: Path) -> None:
    status, lines = run(file, "show", "--map-index", "0")

    assert status == 5
    assert "--xcom plan=JSON" in lines[-1]


@pytest.mark.parametrize(
    ("arguments", "status", "error"),
    [
        (["fails", "--xcom", "add=3"], 1, "[fails] failed: ValueError: 3"),
        (["skips"], 0, "[skips] skipped: nothing new"),
        (["nowhere"], 5, "has no task 'nowhere'"),
        (["plan", "--map-index", "0"], 5, "it is not mapped; leave out the map index 0"),
        (["show", "--xcom", "plan=[1]"], 5, "it is mapped; say for which map index"),
        (["show", "--map-index", "1", "--xcom", "plan=[1]"], 5, "it has 1 instances; 1 is none"),
        (["plan", "--xcom", "nowhere=1"], 5, "has no task 'nowhere'"),
    ],
)
def test_how_it_ends(arguments: list[str], status: int, error: str, file: Path) -> None:
    ended, lines = run(file, *arguments)

    assert ended == status
    assert error in lines[-1]


def test_xcoms_are_json_by_task_and_key() -> None:
    assert parse_xcoms(["a=1", 'b:k={"c": "="}']) == {"a": 1, ("b", "k"): {"c": "="}}
    for text in ("a", "a=b"):
        with pytest.raises(RequestError, match=f"--xcom {text}: .*write it like"):
            parse_xcoms([text])


def test_params_are_json_or_text() -> None:
    assert parse_params(["a=1", "b=UA", "c=x=y"]) == {"a": 1, "b": "UA", "c": "x=y"}
    for text in ("a", "=1"):
        with pytest.raises(RequestError, match="is not like name=value"):
            parse_params([text])
