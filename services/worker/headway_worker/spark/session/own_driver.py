"""A driver of the attempt's own: a classic session, whose Java virtual machine is its child.

This module imports pyspark.  It belongs in the processes of attempts.
"""

import os
import shlex
import subprocess
from contextlib import suppress
from typing import Any, Final
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headway.domain.spark_work import OnHandle
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.submission import SubmitSettings, write_properties
from headway_worker.spark.cluster.submit_command import (
    new_tag,
    own_driver,
    properties,
    with_free_port,
)
from headway_worker.spark.figures.watch import DriverWatch
from headway_worker.spark.target.authentication import authenticated
from headway_worker.spark.target.errors import (
    OF_THE_CONNECTION,
    SparkError,
    for_memory,
    how_it_ended,
)
from headway_worker.spark.target.installation import CLIENT_VARIABLES

# What the worker's own Connect server has too, so that a task means the same on either.
_DEFAULTS: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}
_SECONDS: Final = 10.0
_LAST_WORDS: Final = ("java.lang.OutOfMemoryError", "SparkContext was shut down")
"""Of what Spark's driver may tell its job before it begins to end for it."""

_SETTLING: Final = 5000
"""Milliseconds for which a driver may be busy with the account of its jobs."""


def open_driver(settings: SubmitSettings, attempt_key: str, on_handle: OnHandle) -> SparkSession:
    """Start a driver on the connection's master; return its session, this process's active one.

    `on_handle` is told before the driver starts, and again when its application has an id.
    The driver ends with this process, however that ends.  SparkError when it does not start.
    """
    tag = new_tag(attempt_key, uuid4().hex[:12])
    handle = {"kind": "driver", "tag": tag}
    application = own_driver(settings.connection)
    given = properties(application, attempt_key, tag, settings.master)
    given = with_free_port({**_DEFAULTS, **given}, settings.defaults())
    given = authenticated(given, settings.defaults(), settings.master)
    file = write_properties(settings.scratch / "driver.properties", given)
    on_handle(handle)
    command = ["--master", settings.master, "--deploy-mode", "client"]
    command += ["--name", settings.title]
    command += ["--properties-file", str(file), "--load-spark-defaults", *_login(application)]
    _prepare_environment(settings, [*command, application.application])
    try:
        spark = SparkSession.builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        _end_machine()
        raise SparkError(
            f"No driver could be started on {settings.master}; what it said is in the log. {error}"
        ) from error
    on_handle({**handle, "application_id": spark.sparkContext.applicationId})
    return spark


def watch_driver(spark: SparkSession, watch: DriverWatch) -> None:
    """Have the driver watched, if it has a web interface."""
    address = spark.sparkContext.uiWebUrl
    if address is not None:
        watch.begin(address)


def explain_driver(error: str) -> str | None:
    """Return what to tell instead of a task's error when its driver has ended, else None.

    A machine that ends breaks what runs in it in any way, so the error's text tells little.
    """
    gateway = SparkContext._gateway  # noqa: SLF001 - as below
    machine = getattr(gateway, "proc", None)
    if machine is None:
        return None
    if not (any(words in error for words in _LAST_WORDS) or _is_ending(gateway)):
        return None
    try:
        code = machine.wait(_SECONDS)  # its connections end before it does
    except subprocess.TimeoutExpired:
        return None
    memory = for_memory(OF_THE_CONNECTION, code, error)
    return (
        f"The attempt's Spark driver {how_it_ended(code)}; what it printed is in the log. "
        f"What the attempt was running there is lost; a retry gets a new driver.{memory} "
        f"The task was told: {_first_line(error)}"
    )


def close_driver(spark: SparkSession, watch: DriverWatch) -> None:
    """Stop the session and its driver; one that has died is no error.

    First its own account of its jobs is waited for, and read.
    """
    with suppress(PySparkException, Py4JError, OSError, AttributeError):  # the last one: stopped
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_SETTLING)  # noqa: SLF001
    watch.close()
    with suppress(PySparkException, Py4JError, OSError):
        spark.stop()
    _end_machine()


def _is_ending(gateway: Any) -> bool:
    """Return whether the Java virtual machine has ended, or has begun to.

    It refuses to forget a hook for its end as soon as it runs them, even one it never had.
    """
    try:
        java = gateway.jvm.java.lang
        java.Runtime.getRuntime().removeShutdownHook(java.Thread())
    except (Py4JError, OSError):
        return True
    return False


def _first_line(text: str) -> str:
    return next(iter(text.strip().splitlines()), "")


def _login(application: SparkApplication) -> list[str]:
    given = {
        "--principal": application.principal,
        "--keytab": application.keytab,
        "--proxy-user": application.proxy_user,
    }
    return [word for option, value in given.items() if value for word in (option, value)]


def _prepare_environment(settings: SubmitSettings, arguments: list[str]) -> None:
    """Say to pyspark, which looks nowhere else, how a driver is to be started."""
    variables = settings.of_programs()
    if settings.master.startswith("local"):
        variables["SPARK_LOCAL_IP"] = "127.0.0.1"
        variables.setdefault("SPARK_LOCAL_DIRS", str(settings.scratch / "local"))
    environment = os.environ  # noqa: TID251 - the attempt's own, for its driver
    for name in CLIENT_VARIABLES:
        environment.pop(name, None)
    environment.update(variables, PYSPARK_SUBMIT_ARGS=shlex.join(arguments))


def _end_machine() -> None:
    """End the Java virtual machine, so that the next driver gets one, with properties of its own.

    It ends by itself when its standard input does.
    """
    gateway = SparkContext._gateway  # noqa: SLF001 - pyspark has no other name for it
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    machine = getattr(gateway, "proc", None)
    if gateway is None or machine is None:
        return
    with suppress(Py4JError, OSError):
        gateway.shutdown()
    machine.stdin.close()
    try:
        machine.wait(_SECONDS)
    except subprocess.TimeoutExpired:
        machine.kill()
        machine.wait()
