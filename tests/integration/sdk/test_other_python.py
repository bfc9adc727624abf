"""Functions of tasks in another Python, and virtual environments for them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from headway.domain.interval import DataInterval
from headway.domain.states import Outcome
from headway.sdk import DAG, BaseOperator, EmptyOperator, XComArg, task
from headway.sdk.exceptions import AirflowException
from headway.sdk.harness.execution import Result, execute
from headway.sdk.harness.loading import load_dag_file
from headway.sdk.programs.venvs import VenvRequest, kept
from headway.sdk.running.facts import RunFacts
from headway.sdk.running.task_runtime import LocalRuntime

Run = Callable[..., tuple[Result, Any]]

BARE = VenvRequest(system_site_packages=False)
HERE = sys.executable


@pytest.fixture
def dag() -> Iterator[DAG]:
    with DAG("flights", params={"carrier": "UA"}) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where virtual environments are kept."""
    return tmp_path / "virtualenvs"


@pytest.fixture
def run(folder: Path) -> Run:
    """Run a task; return its result, and what it has returned."""

    def run_task(of: BaseOperator | XComArg) -> tuple[Result, Any]:
        operator = of.as_operator()
        at = datetime(2013, 1, 1, tzinfo=UTC)
        facts = RunFacts(
            dag_id="flights",
            run_id="manual__1",
            task_id=operator.task_id,
            data_interval=DataInterval.exact(at),
        )
        runtime = LocalRuntime(operator.task_id, virtualenvs=folder)
        result = execute(operator, facts, runtime)
        return result, runtime.xcoms.get((operator.task_id, "return_value"))

    return run_task


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """A folder with a wheel of the package `tiny`."""
    found = tmp_path / "wheels"
    found.mkdir()
    info = "tiny-1.0.dist-info"
    with ZipFile(found / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny.py", "SIZE = 3\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(
            f"{info}/RECORD",
            "".join(
                f"{name},,\n"
                for name in ("tiny.py", f"{info}/METADATA", f"{info}/WHEEL", f"{info}/RECORD")
            ),
        )
    return found


def test_arguments_and_the_context_arrive_and_the_result_comes_back(dag: DAG, run: Run) -> None:
    @task.external_python(string_args=["text"], python=HERE)
    def work(at: Any, more: Any, ds: str = "", logical_date: Any = 0, **context: Any) -> Any:
        import sys

        assert "headway" not in sys.modules
        later = (at - logical_date).total_seconds()
        known = context["params"]["carrier"], "ti" in context, context["run_id"]
        return [later, ds, more, known, virtualenv_string_args]  # type: ignore[name-defined] # noqa: F821

    at = datetime(2013, 1, 1, 1, tzinfo=UTC)
    result, returned = run(work(at, more={"run": "{{ run_id }}"}))

    assert result.outcome is Outcome.SUCCESS, result.error
    assert returned == [
        3600.0,
        "2013-01-01",
        {"run": "manual__1"},
        ["UA", False, "manual__1"],
        ["text"],
    ]


def test_the_function_sees_nothing_around_it(
    dag: DAG, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    @task.external_python(python=HERE)
    def work(path: "Unknown") -> object:  # type: ignore[name-defined] # noqa: F821
        return sys.version

    result, _ = run(work(Path.__name__))

    assert (result.outcome, result.error) == (
        Outcome.FAILED,
        "NameError: name 'sys' is not defined",
    )
    said = capfd.readouterr().out
    line = work.function.__code__.co_firstlineno + 2
    assert f'test_other_python.py", line {line}, in work\n    return sys.version' in said
    assert "call_function" not in said


@pytest.mark.parametrize(
    ("code", "outcome", "error"),
    [
        (3, Outcome.SKIPPED, "The function exited with 3, which skips the task."),
        (4, Outcome.FAILED, "The function's process exited with 4, without a result."),
        (0, Outcome.FAILED, "The function's process exited with 0, without a result."),
    ],
)
def test_an_exit_code_skips_or_fails(
    dag: DAG, run: Run, code: int, outcome: Outcome, error: str
) -> None:
    @task.external_python(skip_on_exit_code=3, python=HERE)
    def work(code: int) -> None:
        import sys

        sys.exit(code)

    result, _ = run(work(code))

    assert (result.outcome, result.error) == (outcome, error)


def test_what_is_not_json_is_no_result(dag: DAG, run: Run) -> None:
    @task.external_python(python=HERE)
    def work() -> object:
        return object()

    result, _ = run(work())

    assert "What the function returned is not JSON: Object of type object" in str(result.error)


@pytest.mark.parametrize(("inherit", "expected"), [(True, ["here", "own"]), (False, [None, "own"])])
def test_the_environment_is_inherited_unless_it_is_not_to_be(
    dag: DAG, run: Run, monkeypatch: pytest.MonkeyPatch, inherit: bool, expected: list[Any]
) -> None:
    monkeypatch.setenv("INHERITED", "here")

    @task.external_python(inherit_env=inherit, env_vars={"OWN": "own"}, python=HERE)
    def work() -> object:
        import os

        return [os.environ.get(name) for name in ("INHERITED", "OWN")]

    assert run(work())[1] == expected


def test_a_branch_in_another_python_chooses(dag: DAG, run: Run) -> None:
    @task.branch_external_python(python=HERE)
    def choose() -> str:
        return "a"

    chosen = choose()
    chosen >> [EmptyOperator(task_id=name) for name in "ab"]

    assert run(chosen)[0].skip_tasks == ("b",)


def test_a_python_that_is_not_there_is_named(dag: DAG, run: Run) -> None:
    @task.external_python(python="/nowhere/python")
    def work() -> None: ...

    assert "There is no Python /nowhere/python on the worker" in str(run(work())[0].error)


def test_the_function_imports_modules_of_the_bundle(tmp_path: Path, run: Run) -> None:
    (tmp_path / "helping_flights.py").write_text("SIZE = 7\n")
    (tmp_path / "flights.py").write_text(
        "import sys\nfrom headway.sdk import DAG, task\n"
        "with DAG('flights'):\n"
        "    @task.external_python(python=sys.executable, retries=1)\n"
        "    def work() -> 'unknown':\n"
        "        from helping_flights import SIZE\n"
        "        return SIZE\n"
        "    work()\n"
    )
    path = list(sys.path)
    (made,) = load_dag_file(tmp_path / "flights.py", tmp_path)
    sys.path[:] = path

    assert run(made.task_dict["work"])[1] == 7


def test_a_virtual_environment_has_what_is_required_and_is_kept(
    dag: DAG, run: Run, folder: Path, wheels: Path
) -> None:
    @task.virtualenv(
        requirements=["tiny==1.0"],
        index_urls=[],
        pip_install_options=["--find-links", str(wheels)],
        system_site_packages=False,
    )
    def work() -> list[Any]:
        import sys

        import tiny  # type: ignore[import-not-found]

        return [tiny.SIZE, sys.prefix]

    first, again = run(work()), run(work())

    assert first[0].outcome is Outcome.SUCCESS, first[0].error
    (made,) = [path for path in folder.glob("venv-*") if path.suffix != ".lock"]
    assert first[1] == again[1] == [3, str(made)]


def test_what_cannot_be_installed_is_told_and_leaves_nothing(
    dag: DAG, run: Run, folder: Path
) -> None:
    @task.virtualenv(requirements=["nowhere-to-be-found"], index_urls=[])
    def work() -> None: ...

    result, _ = run(work())

    assert "The virtual environment cannot be made" in str(result.error)
    assert [path.suffix for path in folder.iterdir()] == [".lock"]


def test_one_that_is_half_made_is_made_anew(folder: Path) -> None:
    python = kept(BARE, folder)
    place = python.parents[1]
    (place / "headway-complete.json").unlink()
    (place / "left").touch()

    assert kept(BARE, folder) == python
    assert not (place / "left").exists()
    inode = place.stat().st_ino
    assert kept(BARE, folder) == python
    assert place.stat().st_ino == inode


def test_two_that_want_the_same_make_it_once(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    with ThreadPoolExecutor(2) as threads:
        found = [made.result() for made in [threads.submit(kept, BARE, folder) for _ in range(2)]]

    assert found[0] == found[1]
    said = [record.message.split(" in ")[0].split(" is ")[0] for record in caplog.records]
    assert said == ["The virtual environment was made", "The virtual environment"]


def test_what_differs_is_another_virtual_environment(folder: Path) -> None:
    other = VenvRequest(system_site_packages=True)

    assert kept(BARE, folder) != kept(other, folder)


def test_a_folder_that_cannot_be_used_keeps_none(
    dag: DAG, run: Run, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder.write_text("a file")

    @task.virtualenv(system_site_packages=False)
    def work() -> str:
        import sys

        return sys.prefix

    result, prefix = run(work())

    assert result.outcome is Outcome.SUCCESS, result.error
    assert not Path(prefix).exists()


def test_a_version_of_python_that_is_not_there_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(AirflowException, match=r"There is no python3\.99 on the PATH"):
        kept(VenvRequest(python_version="3.99"), folder)


def test_indexes_are_no_arguments(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Arguments of a program can be seen by everybody on the machine."""
    uv = tmp_path / "uv"
    uv.write_text(
        "#!/bin/sh\nfor it; do last=$it; done\n"
        f'[ "$1" = venv ] && mkdir -p "$last/bin" && touch "$last/bin/python"\n'
        f'echo "$@" >> {tmp_path}/said; '
        f'echo "$UV_INDEX_URL $UV_EXTRA_INDEX_URL" >> {tmp_path}/urls\n'
    )
    uv.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    wanted = VenvRequest(requirements=("tiny",), index_urls=("https://a:b@c", "https://d"))

    python = kept(wanted, tmp_path / "kept")

    venv, install = (tmp_path / "said").read_text().splitlines()
    assert venv.endswith(f"--system-site-packages --python {sys.executable} {python.parents[1]}")
    assert install.startswith(f"pip install --python {python} -r ")
    assert "a:b" not in venv + install
    assert (tmp_path / "urls").read_text().splitlines()[1] == "https://a:b@c https://d"


def test_the_program_needs_nothing_of_headway() -> None:
    program = Path(sys.modules[VenvRequest.__module__].__file__ or "").with_name("called.py")
    left = subprocess.run(
        [sys.executable, "-I", "-S", str(program)], check=False, capture_output=True, text=True
    )

    assert "IndexError" in left.stderr
