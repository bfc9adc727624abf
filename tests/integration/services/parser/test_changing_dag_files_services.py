"""DAG files that change, break, go away, and come back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.testing.services.stack import Stack, running_stack

pytestmark = pytest.mark.services


def dag(dag_id: str, *task_ids: str) -> str:
    """The source of a DAG with empty tasks."""
    tasks = [f"    EmptyOperator(task_id={task_id!r})\n" for task_id in task_ids or ("only",)]
    return f"from headway.sdk import DAG, EmptyOperator\nwith DAG({dag_id!r}):\n{''.join(tasks)}"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("dags")
    (folder / "canary.py").write_text(dag("canary"))
    with running_stack(tmp_path_factory.mktemp("changing_files"), folder) as stack:
        yield stack


def test_the_last_good_version_stays_in_force(stack: Stack) -> None:
    file = stack.dags / "breaks.py"
    file.write_text(dag("breaks", "old"))
    stack.wait_for_version("breaks")

    file.write_text(dag("breaks", "new") + "1 / 0\n")
    assert "ZeroDivisionError" in stack.wait_for_import_error("breaks.py")
    assert stack.run("breaks").states() == {"old": "success"}

    file.write_text(dag("breaks", "new"))
    stack.wait_for_version("breaks", 2)
    stack.wait_for_no_import_error("breaks.py")
    assert stack.run("breaks").states() == {"new": "success"}


def test_a_deleted_file_takes_its_dag_along(stack: Stack) -> None:
    file = stack.dags / "short_lived.py"
    file.write_text(dag("short_lived"))
    stack.wait_for_version("short_lived")
    run = stack.run("short_lived")

    file.unlink()

    stack.until(lambda _: not stack.dag("short_lived").active, "the end of short_lived")
    assert "short_lived" not in stack.headway("dags", "list").stdout
    assert run.state == "success"  # its history stays

    file.write_text(dag("short_lived"))
    stack.until(lambda _: stack.dag("short_lived").active, "the return of short_lived")
    assert stack.dag("short_lived").version == 1


def test_a_dag_that_its_file_no_longer_defines_ends(stack: Stack) -> None:
    file = stack.dags / "two.py"
    file.write_text(dag("stays") + dag("goes"))
    stack.wait_for_version("goes")

    file.write_text(dag("stays"))

    stack.until(lambda _: not stack.dag("goes").active, "the end of goes")
    assert stack.dag("stays").active


def test_an_emptied_folder_proves_nothing(stack: Stack, tmp_path: Path) -> None:
    """It may be a volume that is not mounted: every DAG stays in force."""
    for file in stack.dags.glob("*.py"):
        file.rename(tmp_path / file.name)

    log = stack.home / "services" / "parser.log"
    stack.until(lambda _: "action=keep_stored" in log.read_text(), "the parser's refusal")
    assert stack.dag("canary").active
    assert stack.run("canary").state == "success"
