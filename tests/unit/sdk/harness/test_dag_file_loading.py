"""Loading a DAG file: which DAGs it makes, and what goes wrong."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headway.domain.errors import DagError
from headway.sdk import DAG
from headway.sdk.harness.execution import Result
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.harness.specification import to_spec

Write = Callable[[str, str], Path]


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Forget what a test has imported."""
    modules, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of the bundle."""

    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("from headway.sdk import *\n" + text)
        return path

    return write_file


def ids(dags: list[DAG]) -> list[str]:
    return [dag.dag_id for dag in dags]


def test_every_way_to_make_a_dag_is_found(tmp_path: Path, write: Write) -> None:
    path = write(
        "flights.py",
        "plain = DAG('plain')\n"
        "with DAG('block'):\n"
        "    EmptyOperator(task_id='a')\n"
        "@dag\n"
        "def decorated(): ...\n"
        "decorated()\n"
        "def factory(name):\n"
        "    return DAG(name)\n"
        "for name in ('x', 'y'):\n"
        "    factory(name)\n"
        "@dag\n"
        "def never_called(): ...\n",
    )

    assert ids(load_dag_file(path, tmp_path)) == ["plain", "block", "decorated", "x", "y"]


def test_dags_of_imported_modules_belong_to_those(tmp_path: Path, write: Write) -> None:
    write("other.py", "other = DAG('other')\ndef make(name): return DAG(name)\n")
    path = write("team/flights.py", "from other import other, make\nmake('mine')\n")

    assert ids(load_dag_file(path, tmp_path)) == ["mine"]


def test_the_folder_comes_before_the_root_and_both_stay_importable(
    tmp_path: Path, write: Write
) -> None:
    write("where.py", "here = 'root'\n")
    write("team/where.py", "here = 'team'\n")
    write("late.py", "here = 'root'\n")
    path = write("team/flights.py", "from where import here\nDAG(here)\n")

    assert ids(load_dag_file(path, tmp_path)) == ["team"]
    assert __import__("late").here == "root"


def test_an_edit_within_the_same_second_is_seen(
    tmp_path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert ids(load_dag_file(write("flights.py", "DAG('one')\n"), tmp_path)) == ["one"]
    assert ids(load_dag_file(write("flights.py", "DAG('two')\n"), tmp_path)) == ["two"]
    assert not (tmp_path / "__pycache__").exists()


def test_files_of_the_same_name_are_modules_of_their_own(tmp_path: Path, write: Write) -> None:
    (a,) = load_dag_file(write("a/twins.py", "DAG('a')\n"), tmp_path)
    (b,) = load_dag_file(write("b/twins.py", "DAG('b')\n"), tmp_path)

    assert a.file is not None
    assert b.file is not None
    assert a.file.module_name != b.file.module_name
    assert "twins" not in sys.modules


def test_the_specification_does_not_tell_where_the_bundle_lies(
    tmp_path: Path, write: Write
) -> None:
    text = "class Mine(BaseOperator):\n    pass\nwith DAG('flights'):\n    Mine(task_id='a')\n"
    specs = []
    for bundle in ("one", "two"):
        path = write(f"{bundle}/flights.py", text)
        (dag,) = load_dag_file(path, tmp_path / bundle)
        specs.append(to_spec(dag, "flights.py"))

    assert specs[0] == specs[1]
    assert specs[0].tasks[0].operator == "flights.Mine"


def test_messages_name_the_module_as_its_author_does(
    tmp_path: Path, write: Write, run: Callable[..., Result]
) -> None:
    text = (
        "class NoFlights(Exception): ...\n"
        "with DAG('flights'):\n"
        "    @task\n"
        "    def land(): raise NoFlights('today')\n"
        "    land()\n"
    )
    (dag,) = load_dag_file(write("flights.py", text), tmp_path)

    result = run(dag.get_task("land"))

    assert result.error == "flights.NoFlights: today"
    assert "flights.NoFlights: today" in str(result.traceback)
    assert "headway_dag_file" not in str(result.traceback)


def test_the_same_id_twice_is_refused(tmp_path: Path, write: Write) -> None:
    path = write("flights.py", "DAG('flights')\nDAG('flights')\n")

    with pytest.raises(DagError, match=r"flights.py makes 2 DAGs with the id 'flights'; rename"):
        load_dag_file(path, tmp_path)


def test_a_file_that_exits_is_refused(tmp_path: Path, write: Write) -> None:
    path = write("flights.py", "import sys\nDAG('flights')\nsys.exit(0)\n")

    with pytest.raises(DagError, match=r"flights.py calls sys.exit\(0\) while it is imported"):
        load_dag_file(path, tmp_path)


def test_errors_of_the_file_go_through_and_leave_no_module(tmp_path: Path, write: Write) -> None:
    modules = {name for name in sys.modules if name.startswith("headway_dag_file")}
    for text, error in (("1 / 0\n", ZeroDivisionError), ("def (\n", SyntaxError)):
        with pytest.raises(error):
            load_dag_file(write("flights.py", text), tmp_path)

    assert {name for name in sys.modules if name.startswith("headway_dag_file")} == modules


def test_a_file_that_is_absent_or_elsewhere_is_refused(tmp_path: Path, write: Write) -> None:
    with pytest.raises(DagError, match="There is no DAG file"):
        load_dag_file(tmp_path / "absent.py", tmp_path)
    with pytest.raises(DagError, match="is not below the folder"):
        load_dag_file(write("a/twins.py", ""), tmp_path / "b")


def test_a_dag_made_outside_of_a_load_belongs_to_no_file() -> None:
    assert DAG("loose").file is None


def test_a_file_that_is_a_package_imports_from_it(write: Write, tmp_path: Path) -> None:
    write("flights/names.py", "NAME = 'by_carrier'")
    path = write("flights/__init__.py", "from .names import NAME\ndag = DAG(NAME)")

    (dag,) = load_dag_file(path, tmp_path)

    assert dag.dag_id == "by_carrier"
