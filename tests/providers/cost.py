"""Print what it costs to parse a file that imports a provider package, beside one that does not.

`python -m tests.providers.cost`: CPU of a parser's child, in ms: once forked from a process that
has preloaded what a fork server preloads, and once from one that has imported besides what the
file imports, as its bundle's fork server has. The fork is counted, and no layer of the sandbox.
"""

import os
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from socket import socket, socketpair
from statistics import median
from time import process_time
from typing import Final

IMPORTS: Final = {
    "no provider": "",
    "http": "from airflow.providers.http.operators.http import HttpOperator",
    "common-sql": (
        "from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator"
    ),
    "amazon, S3": "from airflow.providers.amazon.aws.operators.s3 import S3ListOperator",
    "all of them": "",
}
SOURCE: Final = """
from airflow import DAG
from airflow.operators.bash import BashOperator
with DAG("d", schedule=None):
    BashOperator(task_id="a", bash_command="true")
"""
TIMES: Final = 15


def cpu(root: Path, path: str) -> float:
    """Return the seconds of CPU that it takes to fork a child that parses a file, and in it."""
    from headway_parser.child.parse_file import parse

    def work(its: socket) -> None:
        parse({"root": str(root), "path": path, "cron_semantics": None}, its)

    begun = process_time()
    child, answer = forked(work)
    forking = process_time() - begun
    assert b"dags" in answer[:200], answer.decode(errors="replace")
    used = os.wait4(child, 0)[2]
    return forking + used.ru_utime + used.ru_stime


def forked(work: Callable[[socket], object]) -> tuple[int, bytes]:
    """Fork a process that does this; return its id and what it has written."""
    mine, its = socketpair()
    child = os.fork()
    if child == 0:
        mine.close()
        work(its)
        os._exit(0)
    its.close()
    with mine:
        return child, b"".join(iter(lambda: mine.recv(2**20), b""))


def preloaded(root: Path, path: str, modules: list[str]) -> list[float]:
    """Return the costs below a process that has imported the modules, as a bundle's has."""
    from headway_parser.child.bundle_forker import PackageImports

    def work(its: socket) -> None:
        with tempfile.TemporaryDirectory() as scratch:
            tempfile.tempdir = scratch
            imports = PackageImports(str(root))
            for module in modules:
                imports.add(module)
            imports.keep()
            told = " ".join(str(cpu(root, path)) for _ in range(TIMES))
            print(f"    {len(imports.new())} modules, {pss()} kB (PSS)", flush=True)
            its.sendall(told.encode())

    child, told = forked(work)
    os.waitpid(child, 0)
    return [float(each) for each in told.split()]


def pss() -> str:
    """Return the memory of this process, each page shared among those who have it."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("Pss:"))


def shown(costs: list[float]) -> str:
    """Return the least, the median and the most, in ms."""
    return " / ".join(f"{1000 * each:.1f}" for each in (min(costs), median(costs), max(costs)))


def main() -> None:
    import_module("headway_parser.child.preload")
    lines = [line for line in IMPORTS.values() if line]
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, line) in enumerate(IMPORTS.items()):
            root, path = Path(folder), f"dag_{number}.py"
            written = lines if name == "all of them" else [line]
            (root / path).write_text("\n".join(written) + SOURCE)
            plain = [cpu(root, path) for _ in range(TIMES)]
            print(f"{name}: {shown(plain)} ms", flush=True)
            modules = [each.split()[1] for each in written if each]
            if modules:
                print(f"    preloaded: {shown(preloaded(root, path, modules))} ms", flush=True)


if __name__ == "__main__":
    main()
