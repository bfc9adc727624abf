"""Mapped groups in `headway dags test`, `headway tasks test` and the harness for tests."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headway.cli.main import app
from headway.cli.screen.errors import message
from headway.domain.errors import HeadwayError
from headway.sdk.harness.loading import load_dag_file
from headway.testing import run_dag, run_task

DAG_FILE = """
from headway.sdk import DAG, task, task_group
from headway.sdk.exceptions import AirflowSkipException

with DAG("trial"):
    @task
    def plan():
        return [1, 2, 3]
    @task
    def first(x):
        if x == 2:
            raise ValueError("as it should")
        if x == 3:
            raise AirflowSkipException("as it should")
        return 10 * x
    @task
    def second(x, before):
        return [x, before]
    @task(trigger_rule="all_done")
    def total(found):
        return found
    @task_group
    def each(x):
        return second(x, first(x))
    total(each.expand(x=plan()))
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


def said(file: Path, *arguments: str) -> tuple[bool, list[str]]:
    """Run a command; return whether it was well, and what it has said."""
    result = CliRunner().invoke(app, arguments)
    lines = result.output.splitlines()
    if isinstance(result.exception, HeadwayError):
        lines.append(message(result.exception))
    return result.exit_code == 0, [line for line in lines if not line.endswith("running")]


def test_each_map_index_goes_its_own_way_in_a_trial_run(file: Path) -> None:
    (dag,) = load_dag_file(file, file.parent)

    result = run_dag(dag)

    assert result.state == "success", "by the last task"
    assert result.states == {
        "plan": "success",
        "each.first[0]": "success",
        "each.first[1]": "failed",
        "each.first[2]": "skipped",
        "each.second[0]": "success",
        "each.second[1]": "upstream_failed",
        "each.second[2]": "skipped",
        "total": "success",
    }
    assert result.tasks["total"].return_value == [[1, 10]]


def test_dags_test_names_the_instances(file: Path) -> None:
    well, lines = said(file, "dags", "test", str(file), "trial")

    assert well
    assert {"[each.second[1]] upstream_failed", "[each.second[2]] skipped"} <= set(lines)


def test_an_instance_is_tried_with_what_is_given_for_its_map_index(file: Path) -> None:
    given = ("--xcom", "plan=[7, 8]", "--xcom", "each.first=[70, 80]")
    named = ("tasks", "test", str(file), "trial", "each.second")

    well, lines = said(file, *named, "--map-index", "1", *given)
    assert (well, lines[-1]) == (True, "[each.second[1]] return_value = [8, 80]")
    well, lines = said(file, *named, "--map-index", "2", *given)
    assert (well, lines[-1].endswith("it has 2 instances; 2 is none of them.")) == (False, True)
    well, lines = said(file, *named, *given)
    assert (well, lines[-1].endswith("it is mapped; say for which map index it shall run.")) == (
        False,
        True,
    )


def test_an_instance_is_tried_in_a_test(file: Path) -> None:
    (dag,) = load_dag_file(file, file.parent)
    given: dict[str | tuple[str, str], object] = {"plan": [7, 8], "each.first": [70, 80]}

    assert run_task(dag.get_task("each.second"), map_index=0, xcoms=given).return_value == [7, 70]
