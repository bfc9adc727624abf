"""Five queries of TPC-H, each on its own task, and each with a check of its result.

`scale` and `output` are params: `--conf '{"scale": 0.1, "output": "/data/tpch"}'`. At scale 1
(6 million line items) results must be the validation answers of the specification, at any
other what a second computation without Spark finds.
"""

from datetime import timedelta
from typing import Any

from tpch import answers, checks, independent, source

from headway.sdk import SparkSQLOperator, dag, task


@task
def generate(params: dict[str, Any]) -> str:
    """Make the tables of the scale, unless they are there."""
    folder = source.folder_of(params)
    source.generate(folder, source.scale_of(params))
    return str(folder)


@task
def check(query: str, rows: list[dict[str, Any]], params: dict[str, Any]) -> int:
    """Fail unless the query has given what it must."""
    if source.scale_of(params) == 1:
        wanted = answers.AT_SCALE_1[query]
    else:
        wanted = independent.expected(query, source.folder_of(params))
    checks.demand_equal(query, rows, wanted)
    return len(rows)


@dag(
    "tpch",
    schedule=None,
    params={"scale": 1, "output": "~/headway-tpch"},
    default_args={"retries": 1, "retry_delay": timedelta(seconds=5)},
    tags=["example", "spark"],
    doc_md=__doc__,
)
def tpch() -> None:
    """Wire the tasks: the data, then each query with its check."""
    data = generate()
    for query in answers.AT_SCALE_1:
        asked = SparkSQLOperator(task_id=query, sql=f"queries/{query}.sql", fetch_rows=10)
        data >> asked
        check.override(task_id=f"check_{query[:3]}")(query=query, rows=asked.output)


tpch()
