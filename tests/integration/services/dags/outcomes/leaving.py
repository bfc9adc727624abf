"""Tasks that leave in other ways than by returning, and what they leave behind."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, task


def note(folder: str, name: str, pid: int) -> None:
    namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    (Path(folder) / name).write_text(f"{pid} {namespace}")


def start_sleeper(folder: str, name: str, *, session: bool) -> None:
    """Start a process that would live for long, and note its id."""
    sleeper = subprocess.Popen(["sleep", "600"], start_new_session=session)
    note(folder, name, sleeper.pid)


def note_self(folder: str) -> None:
    note(folder, "self", os.getpid())


with DAG("leaves"):

    @task
    def exits_with_0() -> None:
        sys.exit(0)

    @task
    def exits_with_1() -> None:
        sys.exit(1)

    @task
    def leaves_at_once() -> None:
        os._exit(0)

    @task
    def leaves_with_a_result() -> str:
        os.close(2)
        return "well"

    @task
    def crashes() -> None:
        ctypes.string_at(0)

    @task
    def kills_itself() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    for make in (
        exits_with_0,
        exits_with_1,
        leaves_at_once,
        leaves_with_a_result,
        crashes,
        kills_itself,
    ):
        make()

with DAG("runs_too_long"):

    @task(execution_timeout=1)
    def sleeps(params: dict[str, Any]) -> None:
        note_self(params["folder"])
        start_sleeper(params["folder"], "child", session=False)
        start_sleeper(params["folder"], "grandchild", session=True)
        sleep(600)

    sleeps()

with DAG("ignores_sigterm"):

    @task(execution_timeout=1)
    def stays(params: dict[str, Any]) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        note_self(params["folder"])
        while True:
            sleep(600)

    stays()

with DAG("is_retried_after_a_timeout"):

    @task(execution_timeout=0.7, retries=1, retry_delay=0)
    def slow_at_first(try_number: int) -> None:
        if try_number == 1:
            sleep(600)

    slow_at_first()

with DAG("leaves_a_grandchild"):

    @task
    def daemonizes(params: dict[str, Any]) -> str:
        note_self(params["folder"])
        start_sleeper(params["folder"], "grandchild", session=True)
        return "done"

    daemonizes()
