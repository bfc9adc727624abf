"""DAGs whose functions note what they are called for."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

from headway.sdk import DAG, BashOperator, task
from headway.sdk.exceptions import AirflowSkipException, AirflowTaskTimeout


def folder(context: Any) -> Path:
    return Path(context["params"]["folder"])


def itself() -> str:
    """Return which process this is: its id, and the namespace which that is of."""
    namespace = os.readlink("/proc/self/ns/pid")  # noqa: PTH115
    return f"{os.getpid()} {namespace}"


def note(name: str) -> Callable[[Any], None]:
    """Make a function that adds a line to a file of that name."""

    def called(context: Any) -> None:
        ti, run = context.get("ti"), context["dag_run"]
        noted = {
            "task": ti and ti.task_id,
            "map_index": ti and ti.map_index,
            "try_number": ti and ti.try_number,
            "task_state": ti and ti.state,
            "run_state": run.state,
            "run_id": run.run_id,
            "ds": context["ds"],
            "reason": context["reason"],
            "log_url": ti and ti.log_url,
            "took": ti and ti.duration,
            "exception": repr(context["exception"]) if "exception" in context else None,
            "left": ti and ti.xcom_pull("lands"),
            "process": itself(),
            "key": os.environ["HEADWAY_CALLBACK"],
        }
        with (folder(context) / name).open("a") as file:
            file.write(json.dumps(noted) + "\n")

    return called


def complain(_context: Any) -> None:
    print("about to complain")  # noqa: T201
    raise RuntimeError("nobody answers the phone")


def hang(context: Any) -> None:
    note("hung")(context)
    sleep(600)


def before(context: Any) -> None:
    (folder(context) / "before").write_text(f"{context['ti'].state} {itself()}")
    raise RuntimeError("nothing comes of this")


def leave(_context: Any) -> None:
    os._exit(7)


with DAG(
    "calls",
    default_args={"on_failure_callback": note("task_failed"), "on_success_callback": note("ok")},
    on_success_callback=note("run_ok"),
    on_failure_callback=[note("run_failed"), note("run_failed_too")],
):

    @task(on_execute_callback=before)
    def lands() -> str:
        return itself()

    @task(
        retries=2,
        retry_delay=0.1,
        on_retry_callback=note("retried"),
        on_failure_callback=[complain, note("told_after_complaint")],
    )
    def fails() -> None:
        raise ValueError("no rows")

    @task(on_skipped_callback=note("skipped"))
    def skips() -> None:
        raise AirflowSkipException("nothing new")

    @task
    def never_starts() -> None: ...

    @task
    def mapped(number: int) -> int:
        return 1 // number

    @task(execution_timeout=0.3, retries=3, retry_on=[ConnectionError])
    def takes_too_long() -> None:
        sleep(600)

    mapped.expand(number=[0, 1])
    takes_too_long()
    skips() >> never_starts()
    lands() >> fails()

with DAG("goes_well", on_success_callback=note("run_ok"), on_failure_callback=note("run_failed")):
    BashOperator(task_id="quick", bash_command="true")

with DAG("hangs", on_success_callback=note("run_ok")):
    BashOperator(task_id="quick", bash_command="true", on_success_callback=hang)
    BashOperator(task_id="leaving", bash_command="true", on_success_callback=leave)

with DAG(
    "takes_its_time",
    dagrun_timeout=0.5,
    on_success_callback=note("run_ok"),
    on_failure_callback=note("run_failed"),
):
    BashOperator(task_id="slow", bash_command="sleep 600", on_skipped_callback=note("skipped"))

with DAG(
    "waits",
    on_failure_callback=note("run_failed"),
    default_args={"on_failure_callback": note("task_failed")},
):
    BashOperator(
        task_id="slow",
        bash_command="touch {{ params.folder }}/begun; sleep 600",
        do_xcom_push=False,
    )
    BashOperator(task_id="not_begun", bash_command="true", pool="none_free")

with DAG("tries_again"):

    @task(
        retries=2, retry_delay=0.05, retry_on=[ConnectionError], fail_fast_on="ConnectionResetError"
    )
    def named(try_number: int) -> None:
        raise ConnectionResetError("for good") if try_number == 2 else ConnectionRefusedError("no")

    @task(retries=2, retry_delay=0.05, retry_on=[ConnectionError])
    def another() -> None:
        raise KeyError("x")

    @task(retries=1, retry_delay=0.05, retry_on=AirflowTaskTimeout, execution_timeout=0.3)
    def times_out() -> None:
        sleep(600)

    @task(retries=1, retry_delay=0.05, retry_on=AirflowTaskTimeout)
    def vanishes() -> None:
        os._exit(1)

    named()
    another()
    times_out()
    vanishes()
