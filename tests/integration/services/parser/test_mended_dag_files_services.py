"""A DAG file that failed for something outside of it is taken over once that is mended."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from headway.testing.services.stack import Stack, running_stack

pytestmark = pytest.mark.services

HEAD = "from headway.sdk import DAG\n"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    folder = tmp_path_factory.mktemp("mended")
    (folder / "dags").mkdir()
    with running_stack(folder / "home", folder / "dags") as stack:
        yield stack


def write(path: Path, text: str) -> None:
    path.write_text(text)


def test_a_helper_that_is_mended(stack: Stack) -> None:
    write(stack.dags / "constants_of_mended.py", "NAME = 'mended'\n1 +\n")
    write(stack.dags / "mended.py", f"{HEAD}from constants_of_mended import NAME\nDAG(NAME)\n")
    assert "SyntaxError" in stack.wait_for_import_error("mended.py")

    write(stack.dags / "constants_of_mended.py", "NAME = 'mended'\n")

    stack.wait_for_no_import_error("mended.py")
    stack.wait_for_version("mended")


def test_a_dag_that_moves_to_another_file(stack: Stack) -> None:
    write(stack.dags / "old_place.py", f"{HEAD}DAG('moving')\n")
    stack.wait_for_version("moving")
    write(stack.dags / "new_place.py", f"{HEAD}DAG('moving')\n")
    assert "old_place.py" in stack.wait_for_import_error("new_place.py")

    write(stack.dags / "old_place.py", f"{HEAD}DAG('staying')\n")

    stack.wait_for_version("staying")
    stack.wait_for_no_import_error("new_place.py")
    row = stack.dag("moving")
    assert (row.active, row.relative_path) == (True, "new_place.py")
