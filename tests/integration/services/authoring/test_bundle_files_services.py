"""What a task finds of its bundle: the files of its version, and what the bundle had besides."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from headway.testing.data.known import known
from headway.testing.services.cluster import ServiceCluster, service_cluster

pytestmark = pytest.mark.services

SHOP = """
import importlib
import subprocess
from importlib import resources
from pathlib import Path

from headway.sdk import DAG, BashOperator, task

headway_files = ["conf/*.json"]
HERE = Path(__file__).parent

with DAG("shop", template_searchpath="templates"):

    @task
    def imports_in_the_task():
        try:
            from library.late import word
        except ImportError:
            raise
        return word()

    @task
    def reads_beside_it():
        rates = Path(__file__).with_name("rates.csv")
        return [rates.exists(), rates.read_text()]

    @task
    def imports_by_a_name_made_at_run_time():
        return importlib.import_module("plug" + "in").WORD

    @task
    def reads_what_it_names():
        return sorted(path.read_text() for path in HERE.glob("conf/*.json"))

    @task
    def starts_a_program():
        return subprocess.check_output(["cat", str(HERE / "library" / "note.txt")], text=True)

    @task
    def reads_a_resource():
        return resources.files("library").joinpath("note.txt").read_text()

    @task.bash
    def runs_a_script():
        return f"bash {HERE / 'run.sh'}"

    BashOperator(task_id="renders_a_file", bash_command="say.sh")

    for each in (imports_in_the_task, reads_beside_it, imports_by_a_name_made_at_run_time,
                 reads_what_it_names, starts_a_program, reads_a_resource, runs_a_script):
        each()
"""
EXPECTED = {
    "imports_in_the_task": "late",
    "reads_beside_it": [True, "1,2"],
    "imports_by_a_name_made_at_run_time": "plugin",
    "reads_what_it_names": ["a"],
    "starts_a_program": "a note",
    "reads_a_resource": "a note",
    "runs_a_script": "ran",
    "renders_a_file": "included shop",
}
FILES = {
    "library/__init__.py": "",
    "library/late.py": "from library.deeper import WORD\ndef word():\n    return WORD\n",
    "library/deeper.py": 'WORD = "late"\n',
    "library/note.txt": "a note",
    "plugin.py": 'WORD = "plugin"\n',
    "rates.csv": "1,2",
    "run.sh": "echo ran\n",
    "conf/a.json": "a",
    "templates/say.sh": "echo {% include 'word.txt' %}\n",
    "templates/word.txt": "included {{ dag.dag_id }}",
    "shop.py": SHOP,
}
HIDDEN = """
from pathlib import Path

from headway.sdk import DAG, task

with DAG("hidden"):

    @task
    def reads():
        return (Path(__file__).parent / "data" / "large.json").read_text()

    @task
    def imports():
        import importlib
        return importlib.import_module("private" + ".thing").X

    reads()
    imports()
"""
WARNING = text("SELECT warning FROM dag_file WHERE relative_path = :path")
VERSIONS = text("SELECT count(*) FROM dag_version")


def write(folder: Path, contents: dict[str, str]) -> None:
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


@pytest.fixture
def cluster(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    with service_cluster(database_url, tmp_path) as found:
        write(found.dags, FILES)
        yield found


def number(cluster: ServiceCluster, dag_id: str) -> int:
    return known(cluster.dag(dag_id).version)


def has_versions(at_least: int, conn: Connection) -> bool:
    return int(conn.scalar(VERSIONS) or 0) >= at_least


def looked_again(cluster: ServiceCluster, number: int) -> None:
    """Wait until the parser has looked at all files once more."""
    write(cluster.dags, {"marker.py": f"from headway.sdk import DAG\nDAG('marker')  # {number}\n"})
    cluster.wait_for_version("marker", number)


@pytest.mark.regression
def test_a_task_finds_on_a_worker_what_dags_test_finds(
    cluster: ServiceCluster, tmp_path: Path
) -> None:
    tested = cluster.headway("dags", "test", str(cluster.dags / "shop.py"), "shop")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    cluster.start("parser")
    cluster.start("scheduler")
    cluster.wait_for_version("shop", 1)
    cluster.end(cluster.member("parser-1"))
    cluster.dags.rename(tmp_path / "elsewhere")
    cluster.start("worker")

    run = cluster.run("shop", {})

    assert run.states() == dict.fromkeys(EXPECTED, "success"), cluster.service_logs()
    assert {task: run.xcom(task) for task in EXPECTED} == EXPECTED


@pytest.mark.regression
def test_what_makes_a_new_version_and_what_does_not(cluster: ServiceCluster) -> None:
    cluster.start("parser")
    cluster.wait_for_version("shop", 1)

    write(cluster.dags, {"rates.csv": "3,4", "plugin.py": 'WORD = "other"\n', "more.txt": "x"})
    looked_again(cluster, 1)
    assert number(cluster, "shop") == 1

    write(cluster.dags, {"library/deeper.py": 'WORD = "later"\n'})
    cluster.wait_for_version("shop", 2)
    write(cluster.dags, {"conf/a.json": "changed"})
    cluster.wait_for_version("shop", 3)
    write(cluster.dags, {"conf/b.json": "b"})
    cluster.wait_for_version("shop", 4)
    (cluster.dags / "conf" / "b.json").unlink()
    cluster.until(lambda _: number(cluster, "shop") == 3, "the version of before, again")
    write(cluster.dags, {"templates/word.txt": "other"})
    cluster.wait_for_version("shop", 5)


@pytest.mark.regression
def test_an_error_names_the_file_that_is_missing_and_the_line_to_add(
    cluster: ServiceCluster,
) -> None:
    write(
        cluster.dags,
        {
            "hidden.py": HIDDEN,
            "data/large.json": "{}",
            "private/thing.py": "X = 1\n",
            ".headwayignore": "/data/\n/private/\n",
        },
    )
    tested = cluster.headway("dags", "test", str(cluster.dags / "hidden.py"), "hidden")
    for kind in ("parser", "scheduler", "worker"):
        cluster.start(kind)
    cluster.wait_for_version("hidden", 1)
    run = cluster.run("hidden", {})

    for task_id, line in (
        ("reads", 'headway_files = ["data/large.json"]'),
        ("imports", 'headway_files = ["private.py"], or ["private/**"] for a package'),
    ):
        assert run.states()[task_id] == "failed"
        assert f"Add this line to hidden.py, and it is part of the version: {line}" in str(
            run.attempt(task_id).error
        )
        assert line in tested.stdout
    assert tested.returncode == 1
    with cluster.engine.connect() as conn:
        warning = conn.execute(WARNING, {"path": "hidden.py"}).scalar_one()
    assert "hidden.py, line 15, imports a module by a name that is built at run time" in warning

    lines = 'headway_files = ["data/large.json", "private/*.py"]\n'
    write(cluster.dags, {"hidden.py": HIDDEN + lines})
    cluster.wait_for_version("hidden", 2)
    assert cluster.run("hidden", {}).states() == {"reads": "success", "imports": "success"}


@pytest.mark.regression
@pytest.mark.parametrize("files", [50, pytest.param(500, marks=pytest.mark.long)])
def test_an_edit_of_one_of_many_files_in_a_folder_makes_one_version(
    cluster: ServiceCluster, files: int
) -> None:
    flat = {
        f"flat_{n:03}.py": f"from headway.sdk import DAG\nwith DAG('flat_{n:03}'):\n    pass\n"
        for n in range(files)
    }
    write(cluster.dags, flat)
    cluster.start("parser")
    for most in (*range(100, files, 100), files + 1):
        cluster.until(partial(has_versions, most), f"{most} versions")

    write(cluster.dags, {"flat_025.py": flat["flat_025.py"] + "# edited\n"})
    cluster.wait_for_version("flat_025", 2)
    looked_again(cluster, 1)

    with cluster.engine.connect() as conn:
        assert conn.scalar(VERSIONS) == files + 3  # the edited one's, and the marker's
