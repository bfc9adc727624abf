"""`dag.test()` runs a DAG as `headway dags test` does."""

import logging
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headway.cli.local.dag_test import run_dag
from headway.domain.errors import DagError, HeadwayError
from headway.sdk import DAG, BaseHook, Variable, task
from headway.testing import load_dags

DAY = datetime(2024, 1, 5, tzinfo=UTC)
DAG_FILE = """
import pendulum
from headway.sdk import DAG, task

with DAG("trial", schedule="@daily", start_date=pendulum.datetime(2024, 1, 1)):
    @task
    def plan(params):
        return [1, params.get("last", 2)]
    @task
    def double(x):
        print("doubling", x)
        return 2 * x
    @task
    def divide(xs):
        return 1 // (sum(xs) - 6)
    divide(double.expand(x=plan()))
"""


@pytest.fixture(autouse=True)
def _restored_path() -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path


@pytest.fixture
def trial(tmp_path: Path) -> DAG:
    (tmp_path / "trial.py").write_text(DAG_FILE)
    return load_dags(tmp_path / "trial.py")["trial"]


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was printed, without times, and without the lines of tracebacks."""
    lines = capsys.readouterr().out.splitlines()
    return [re.sub(r"in \d+\.\d s", "in … s", line) for line in lines if line[:2] != "  "]


@pytest.mark.parametrize("last", [2, 3])
def test_it_prints_what_dags_test_prints(
    trial: DAG, last: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status = run_dag(tmp_path / "trial.py", "trial", "2024-01-05", {"last": last}, DAY)
    printed = said(capsys)
    conf = {"last": last}
    if status == 0:
        run = trial.test(logical_date=DAY, run_conf=conf)
        assert (run.state, run.conf, run.logical_date) == ("success", conf, DAY)
    else:
        with pytest.raises(DagError, match=r"^The run of DAG 'trial' has failed: the task divide"):
            trial.test(logical_date=DAY, run_conf=conf)

    assert status == (1 if last == 2 else 0)
    assert printed[-1] == f"trial: {'failed' if status else 'success'} in … s"
    assert said(capsys) == printed


def test_tasks_of_a_pattern_do_not_run(trial: DAG, capsys: pytest.CaptureFixture[str]) -> None:
    assert trial.test(logical_date=DAY, mark_success_pattern="divid.").state == "success"

    assert "[divide] success, as mark_success_pattern says; it does not run" in said(capsys)


def test_a_pattern_is_of_the_whole_id(trial: DAG) -> None:
    with pytest.raises(DagError, match="the task divide"):
        trial.test(logical_date=DAY, mark_success_pattern=re.compile("div"))


def test_connections_and_variables_come_from_files(tmp_path: Path) -> None:
    found: list[object] = []
    with DAG("reads") as dag:

        @task
        def read() -> None:
            found.append(BaseHook.get_connection("shop").host)
            found.append(Variable.get("limits", deserialize_json=True))

        read()
    (tmp_path / "connections.json").write_text('{"shop": {"conn_type": "http", "host": "h"}}')
    (tmp_path / "variables.json").write_text('{"limits": {"most": 3}}')

    dag.test(
        conn_file_path=tmp_path / "connections.json",
        variable_file_path=str(tmp_path / "variables.json"),
    )

    assert found == ["h", {"most": 3}]


def test_the_schedule_date_is_when_the_run_was_to_run_after() -> None:
    found: list[datetime] = []
    with DAG("asks") as dag:

        @task
        def ask(schedule_date: datetime) -> None:
            found.append(schedule_date)

        ask()
    dag.test(run_after=DAY)

    assert found == [DAY]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_executor": True}, "use_executor is not there, as tasks run in this process"),
        ({"execution_date": DAY}, "execution_date is an old name; write logical_date="),
        ({"run_config": {}}, "did you mean run_conf"),
        ({"logical_date": DAY.replace(tzinfo=None)}, "logical_date needs a time zone"),
        ({"run_after": DAY.replace(tzinfo=None)}, "run_after needs a time zone"),
        ({"run_conf": {"a": object()}}, "run_conf"),
        ({"conn_file_path": "nowhere.json"}, "conn_file_path: nowhere.json cannot be read"),
    ],
)
def test_what_it_refuses(trial: DAG, options: dict[str, Any], message: str) -> None:
    with pytest.raises(HeadwayError, match=message):
        trial.test(**options)


@pytest.mark.parametrize(("text", "message"), [("shop: h", "is no JSON"), ("[]", "no object")])
def test_a_file_of_variables_is_json(trial: DAG, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "variables.json").write_text(text)

    with pytest.raises(HeadwayError, match=f"variable_file_path: .*{message}"):
        trial.test(variable_file_path=tmp_path / "variables.json")


def test_a_program_is_the_file_of_the_dags_that_its_own_code_makes(tmp_path: Path) -> None:
    """`python my_dag.py` has no file that is loaded; other modules' DAGs are not the program's."""
    code = compile("from headway.sdk import DAG\ndag = DAG('a')\n", "trial.py", "exec")
    found: list[Any] = []
    for name in ("__main__", "imported"):
        module: dict[str, Any] = {"__name__": name, "__file__": str(tmp_path / "trial.py")}
        exec(code, module)
        found.append(module["dag"].file)

    program, other = found
    assert (program.module_name, program.path) == ("__main__", tmp_path / "trial.py")
    assert program.bundle_root == tmp_path
    assert other is None
    assert DAG("made_by_a_test").file is None


@pytest.mark.parametrize("own", [False, True])
def test_what_a_task_logs_from_info_on_is_printed_unless_the_program_has_a_log(
    own: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    handlers: list[logging.Handler] = [logging.NullHandler()] if own else []
    monkeypatch.setattr(logging.root, "handlers", handlers)
    with DAG("logging") as dag:

        @task
        def tell() -> None:
            logging.getLogger("mine").info("seen")
            logging.getLogger("mine").debug("not seen")

        tell()
    dag.test()

    assert ("INFO mine: seen" in said(capsys)) is not own
    assert "not seen" not in capsys.readouterr().out
    assert logging.root.handlers == handlers
