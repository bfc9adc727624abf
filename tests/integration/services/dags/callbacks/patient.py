"""DAGs whose functions, and tasks, wait for a flag."""

import os
from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, task


def wait_for(folder: Path, name: str) -> None:
    """Note who waits, and wait for the file of that name."""
    with (folder / "waiting").open("a") as noted:
        namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
        noted.write(f"{os.getpid()} {namespace}\n")
    while not (folder / name).exists():
        sleep(0.02)


def call(context: Any) -> None:
    folder = Path(context["params"]["folder"])
    wait_for(folder, "go")
    with (folder / "called").open("a") as noted:
        of_run = context["dag_run"].state != "running"
        noted.write(f"{'run' if of_run else context['ti'].task_id}\n")


with DAG("patient"):

    @task(on_success_callback=call)
    def quick() -> None: ...

    quick()

with DAG("interrupted", on_success_callback=call):

    @task(on_success_callback=call)
    def slow(params: dict[str, str]) -> None:
        wait_for(Path(params["folder"]), "end")

    slow()
