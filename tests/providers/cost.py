"""Print what it costs to parse a file that imports a provider package, beside one that does not.

`python -m tests.providers.cost`: CPU of a parser's child, forked from a process that has preloaded
what a fork server preloads; the median of five.
"""

import os
import tempfile
from importlib import import_module
from pathlib import Path
from socket import socketpair
from statistics import median
from typing import Final

IMPORTS: Final = {
    "no provider": "",
    "http": "from airflow.providers.http.operators.http import HttpOperator",
    "common-sql": (
        "from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator"
    ),
    "amazon, S3": "from airflow.providers.amazon.aws.operators.s3 import S3ListOperator",
}
SOURCE: Final = """
from airflow import DAG
from airflow.operators.bash import BashOperator
with DAG("d", schedule=None):
    BashOperator(task_id="a", bash_command="true")
"""
TIMES: Final = 5


def cpu(root: Path, path: str) -> float:
    """Return the seconds of CPU of a child that parses a file."""
    from headway_parser.child.parse_file import parse

    mine, its = socketpair()
    child = os.fork()
    if child == 0:
        mine.close()
        parse({"root": str(root), "path": path, "cron_semantics": None}, its)
        os._exit(0)
    its.close()
    with mine:
        answer = b"".join(iter(lambda: mine.recv(2**20), b""))
    assert b"dags" in answer[:200], answer.decode(errors="replace")
    used = os.wait4(child, 0)[2]
    return used.ru_utime + used.ru_stime


def main() -> None:
    import_module("headway_parser.child.preload")
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, line) in enumerate(IMPORTS.items()):
            path = f"dag_{number}.py"
            (Path(folder) / path).write_text(line + SOURCE)
            spent = median(cpu(Path(folder), path) for _ in range(TIMES))
            print(f"{name}: {1000 * spent:.0f} ms")


if __name__ == "__main__":
    main()
