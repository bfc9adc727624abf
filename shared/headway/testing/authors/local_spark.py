"""Spark of this machine for tests: one session, which all tests of the process share."""

import os
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from headway.cli.local.trial_code import code_on_disk
from headway.cli.local.trial_spark import InProcessSpark
from headway.sdk.authoring.definition import DAG
from headway.sdk.running.task_runtime import DEFAULT_SPARK, SparkApplication


@dataclass(slots=True)
class ProcessSpark:
    """The session of this process, and what it needs; both start when a test first asks."""

    ending: ExitStack = field(default_factory=ExitStack)
    opened: InProcessSpark | None = None
    session: Any = None

    def spark(self) -> InProcessSpark:
        """Return Spark, whose Python workers import what this process can import by now."""
        if self.opened is None:
            folders = os.pathsep.join(path for path in sys.path if path)
            self.opened = InProcessSpark(self.ending, {"PYTHONPATH": folders})
        return self.opened

    def shared_session(self) -> Any:
        """Return the session that tests share."""
        if self.session is None:
            access = self.spark().access("shared", code_on_disk(None), self.ending)
            self.session = access.spark_session(DEFAULT_SPARK)
        return self.session

    def close(self) -> None:
        """End the session and its server; the next test that asks gets others."""
        self.session = self.opened = None
        self.ending.close()


OF_PROCESS = ProcessSpark()


@dataclass(frozen=True, slots=True)
class SparkInTest:
    """What a task has in a test: Spark of this machine, whatever connection it names."""

    access: Callable[[], Any]

    def spark_session(self, _conn_id: str) -> Any:
        """Return the session that tests share."""
        return OF_PROCESS.shared_session()

    def spark_driver(self, _conn_id: str) -> Any:
        """Return the session of a driver of the task's own."""
        return self.access().spark_driver(DEFAULT_SPARK)

    def submit_spark(self, application: SparkApplication) -> None:
        """Run an application with spark-submit on this machine."""
        self.access().submit_spark(replace(application, conn_id=DEFAULT_SPARK))


def spark_in_test(dag: DAG) -> Callable[[str, ExitStack], SparkInTest]:
    """Return what gives Spark to tasks of a DAG."""
    return lambda key, stack: SparkInTest(
        lambda: OF_PROCESS.spark().access(key, code_on_disk(dag), stack)
    )
