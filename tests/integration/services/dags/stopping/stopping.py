"""Tasks that run until somebody stops them, and what they leave behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, BaseOperator, task


def note(params: dict[str, Any], name: str, pid: int) -> None:
    namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    (Path(params["folder"]) / name).write_text(f"{pid} {namespace}")


with DAG("stops"):

    @task(retries=3, retry_delay=0)
    def waits(params: dict[str, Any], try_number: int) -> None:
        if try_number > 1:
            return
        sleeper = subprocess.Popen(["sleep", "600"], start_new_session=True)
        note(params, "grandchild", sleeper.pid)
        note(params, "self", os.getpid())
        sleep(600)

    @task
    def after() -> None:
        pass

    waits() >> after()

with DAG("ignores_it"):

    @task(retries=3, retry_delay=0)
    def ignores(params: dict[str, Any]) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note(params, "self", os.getpid())
        while True:
            sleep(600)

    ignores()

with DAG("cleans_up"):

    @task(retries=3, retry_delay=0)
    def tidies(params: dict[str, Any]) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
        try:
            note(params, "self", os.getpid())
            sleep(600)
        finally:
            sys.stdout.write("All is tidy.\n")

    tidies()

with DAG("finishes_first"):

    @task(retries=3, retry_delay=0)
    def finishes(params: dict[str, Any]) -> None:
        told: list[int] = []
        signal.signal(signal.SIGTERM, lambda number, _: told.append(number))
        note(params, "self", os.getpid())
        while not told:
            sleep(0.05)

    finishes()


class Remote(BaseOperator):
    """A task with something elsewhere."""

    def __init__(self, *, fails: bool = False, **options: Any) -> None:
        super().__init__(**options)
        self.fails = fails
        self.folder = ""

    def execute(self, context: Any) -> None:
        self.folder = context["params"]["folder"]
        note(context["params"], "self", os.getpid())
        sleep(600)

    def on_kill(self) -> None:
        note({"folder": self.folder}, "cancelled", os.getpid())
        if self.fails:
            raise RuntimeError("it does not answer")


with DAG("has_a_job_elsewhere"):
    Remote(task_id="remote")

with DAG("has_a_job_that_takes_too_long"):
    Remote(task_id="remote", fails=True, execution_timeout=1)
