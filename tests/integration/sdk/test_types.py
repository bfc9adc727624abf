"""What `mypy --strict` says to the author of a DAG file."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = """
from datetime import timedelta
from typing import Any

from pyspark.sql import SparkSession

from headway.sdk import DAG, BashOperator, Context, EmptyOperator, PythonOperator
from headway.sdk import SparkSQLOperator, SparkSubmitOperator, Variable, XComArg
from headway.sdk import chain, dag, setup, task, teardown


def tell(context: Context) -> None:
    print(context["ds"])


@task
def land(ds: str) -> str:
    return ds


@task(retries=2, retry_delay=timedelta(minutes=1), on_failure_callback=tell)
def clean(path: str, limit: int = 3, ds: str = "", **context: Any) -> dict[str, int]:
    return {"rows": limit}


@task.pyspark(conn_id="lake", mode="driver")
def silver(spark: SparkSession, landed: str) -> int:
    return 3


@task.pyspark
def gold(spark: SparkSession, rows: int, ds: str = "") -> None: ...


@task.bash(env={"A": "b"})
def command(path: str) -> str:
    return path


@task.sql(fetch_rows=3)
def statements(table: str) -> str:
    return table


@task.branch
def choose(rows: int) -> list[str]:
    return ["gold"] if rows else []


@task.short_circuit(task_id="any")
def go_on(rows: int) -> bool:
    return rows > 0


@task.run_if(lambda context: bool(context["params"]), skip_message="nothing to do")
@task.short_circuit(ignore_downstream_trigger_rules=False)
def go_on_here(rows: int) -> bool:
    return rows > 0


@teardown(on_failure_fail_dagrun=True)
def remove_all(where: str) -> None: ...


@setup
def prepare() -> str:
    return Variable.get("where")


@teardown
@task(queue="big")
def remove(where: str) -> None: ...


@dag(schedule="@daily", catchup=False)
def pipeline(table: str) -> None:
    landed = land()
    cleaned = clean(landed, limit=4)
    rows: XComArg = silver(landed=landed)
    gold(rows=rows)
    gold.override(task_id="again", pool="small")(cleaned["rows"])
    chain(landed, [cleaned, command(path=landed)], statements(table), choose(rows), go_on(rows))
    clean.partial(limit=3).expand(path=["a", "b"]) >> EmptyOperator(task_id="end")
    where = prepare()
    where >> landed >> remove(where)
    with remove_all(where) as scope:
        scope.add_task(go_on_here(rows))
    text: str = command.function("/a")


made: DAG = pipeline("flights")
with DAG("other", schedule=timedelta(hours=1)):
    BashOperator(task_id="bash", bash_command="true", retries=1)
    PythonOperator(task_id="python", python_callable=print, op_args=[1])
    SparkSQLOperator(task_id="sql", sql="SELECT 1", fetch_rows=1)
    SparkSubmitOperator(task_id="submit", application="a.py")
"""

WRONG = """
from pyspark.sql import SparkSession

from headway.sdk import DAG, BashOperator, SparkSubmitOperator, dag, setup, task


@task(retri_delay=3)  # E: retri_delay
def misspelt() -> None: ...


@task(retries="3")  # E: argument type "str"
def option() -> None: ...


@task.bash(comand="x")  # E: comand
def bash_option() -> str:
    return ""


@task.pyspark(fetch_rows=3)  # E: fetch_rows
def spark_option(spark: SparkSession) -> None: ...


@task.sql(mode="driver")  # E: mode
def sql_option() -> str:
    return ""


@task.bash  # E: "Callable[[], int]"
def bash() -> int:
    return 3


@task.branch  # E: "Callable[[], int]"
def branch() -> int:
    return 3


@task
def clean(path: str, limit: int = 3) -> None: ...


@task.pyspark
def silver(spark: SparkSession, rows: int) -> None: ...


@setup
def prepare(where: str) -> None: ...


@dag(schedul="@daily")  # E: schedul
def pipeline() -> None:
    clean(3)  # E: argument type "int"
    clean("a", limit="b")  # E: argument types "str", "str"
    clean("a", limt=3)  # E: limt
    clean("a", 3, 4)  # E: argument types "str", "int", "int"
    clean(limit=3)  # E: argument type "int"
    silver("a")  # E: argument type "str"
    silver(spark=3, rows=3)  # E: spark
    prepare(where=3)  # E: argument type "int"
    clean.override(pol="small")("a")  # E: pol
    clean.override(retries="3")("a")  # E: "retries" to "override" of "TaskFactory" has incompatible
    clean.overide(task_id="b")  # E: has no attribute "overide"
    BashOperator(task_id="a", bash_comand="b")  # E: bash_comand
    BashOperator(task_id="a", bash_command=3)  # E: "bash_command" to "BashOperator" has
    SparkSubmitOperator(task_id="a", aplication="b")  # E: aplication


DAG("a", shedule="@daily")  # E: shedule
task("name")  # E: "str"
"""


@pytest.mark.regression
def test_mypy_finds_what_is_wrong_and_nothing_in_what_is_right(tmp_path: Path) -> None:
    """Each error is in the line that is marked for it."""
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "wrong.py").write_text(WRONG)
    options = ["--strict", "--config-file=", f"--cache-dir={tmp_path / 'cache'}"]
    told = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "good.py", "wrong.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.stderr == ""
    found: dict[str, str] = {}
    for place, error in re.findall(r"^(\S+?:\d+): error: (.*)$", told.stdout, re.MULTILINE):
        found[place] = f"{found.get(place, '')}{error}\n"
    wanted = {
        f"wrong.py:{number}": line.partition("# E: ")[2]
        for number, line in enumerate(WRONG.splitlines(), start=1)
        if "# E: " in line
    }
    assert found.keys() == wanted.keys(), told.stdout
    missed = {place: text for place, text in wanted.items() if text not in found[place]}
    assert missed == {}, told.stdout


def test_the_package_says_that_it_is_typed() -> None:
    """PEP 561: type checkers read a package only if this file is in it."""
    package = Path(__file__).parents[3] / "shared/headway"

    assert (package / "py.typed").is_file()
