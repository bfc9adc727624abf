"""Tasks that wait for a file, whoever runs them, with a tree of processes below them."""

import os
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, task


def note(file: Path, pid: int) -> None:
    namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    file.write_text(f"{pid} {namespace}")


def wait_for(folder: Path, name: str) -> None:
    while not (folder / name).exists():
        sleep(0.02)


with DAG("waits"):

    @task
    def waits(params: dict[str, Any], try_number: int) -> str:
        folder = Path(params["folder"])
        sleeper = subprocess.Popen(["sleep", "600"], start_new_session=True)
        note(folder / f"sleeper-{try_number}", sleeper.pid)
        note(folder / f"self-{try_number}", os.getpid())
        wait_for(folder, f"go-{try_number}")
        return f"attempt {try_number}"

    waits()

with DAG("asks_nothing"):

    @task
    def asks_nothing(params: dict[str, Any], try_number: int) -> None:
        folder = Path(params["folder"])
        note(folder / f"self-{try_number}", os.getpid())
        wait_for(folder, f"go-{try_number}")

    asks_nothing()


def shows_place(context: Any) -> None:
    if "folder" in context["params"]:
        (Path(context["params"]["folder"]) / "called").write_text(str(Path.cwd()))


with DAG("shows_itself"):

    @task(on_success_callback=shows_place)
    def shows(params: dict[str, Any]) -> dict[str, Any]:
        if "folder" in params:
            note(Path(params["folder"]) / "shows", os.getpid())
            wait_for(Path(params["folder"]), "shown")
        return {"preloaded": "headway_worker.child.preload" in sys.modules}

    shows()

with DAG("fails"):

    @task
    def fails() -> None:
        raise RuntimeError("no")

    fails()
