"""Running again as it was, and as it is: the code that the workers run, from outside."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.testing.services.stack import Stack, running_stack
from headway.testing.services.stack_run import StackRun

pytestmark = [pytest.mark.services, pytest.mark.long]

SOURCE = """
from pathlib import Path
from headway.sdk import DAG, task
from said import WORD

with DAG("report"):

    @task(retries=0)
    def {task}(folder):
        with Path(folder, "told").open("a") as told:
            told.write(f"{task} {{WORD}}\\n")

    {task}({folder!r})
"""


def write(stack: Stack, folder: Path, task: str, word: str) -> None:
    """The module first: the DAG file is read with it."""
    (stack.dags / "said.py").write_text(f"WORD = {word!r}\n")
    (stack.dags / "report.py").write_text(SOURCE.format(task=task, folder=str(folder)))


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("dags")
    with running_stack(tmp_path_factory.mktemp("rerun"), folder) as stack:
        yield stack


def rerun(run: StackRun, version: str, *words: str) -> str:
    """Clear the run with a version, wait for its end, and return what the command has said."""
    done = run.stack.headway(
        *("runs", "clear", run.dag_id, run.run_id, "--version", version, "--yes", *words)
    )
    run.wait()
    return done.stdout


def test_a_run_runs_again_as_it_was_or_as_it_is(stack: Stack, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    write(stack, tmp_path, "first", "old")
    stack.wait_for_version("report")
    run = stack.run("report")
    write(stack, tmp_path, "second", "new")
    stack.until(
        lambda conn: "second" in stack.headway("dags", "show", "report").stdout, "the new version"
    )

    rerun(run, "own")
    assert "instead of 1" in rerun(run, "latest")
    rerun(run, "1")

    told = (tmp_path / "told").read_text().splitlines()
    assert told == ["first old", "first old", "second new", "first old"]
    shown = stack.headway("runs", "show", "report", run.run_id).stdout
    assert "not in version 1: second  removed" in shown
    assert "old" in stack.headway("dags", "code", "report", "--version", "1").stdout
