"""Ask a cluster what became of an application, and have it killed, by the cluster's own tools."""

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from headway.domain.spark_work import Handle
from headway.sdk.exceptions import AirflowFailException
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.cluster.app_outcome import (
    AppOutcome,
    AppReport,
    kubernetes_status,
    yarn_list,
    yarn_report,
)
from headway_worker.spark.cluster.submission import SubmitSettings, write_properties

_SECONDS: Final = 120.0
"""After which a tool is taken to hang, and killed."""


class ClusterTools(Protocol):
    """What a cluster is asked of the application that a handle names."""

    def check(self) -> None:
        """Refuse, before anything is submitted, what could not be asked about afterwards."""

    def ask(self, handle: Handle) -> AppReport:
        """Return what became of it; `unknown` when the cluster does not answer."""

    def kill(self, handle: Handle) -> None:
        """Ask for its end.  Whether that came is for `ask` to tell."""


@dataclass(slots=True)
class ClusterToolsByKind:
    """The clusters that handles name, each asked by its own tool with what a task has given."""

    settings: SubmitSettings
    application: SparkApplication
    _yarn: "Yarn | None" = field(default=None, init=False)

    def check(self) -> None:
        """Refuse YARN where its command is not there."""
        if self.settings.master == "yarn":
            yarn_program(self.settings.of_programs())

    def ask(self, handle: Handle) -> AppReport:
        """Return what became of the application; `unknown` when the cluster does not answer."""
        return self._of(handle).ask(handle)

    def kill(self, handle: Handle) -> None:
        """Ask for its end."""
        self._of(handle).kill(handle)

    def _of(self, handle: Handle) -> "Kubernetes | Yarn":
        if handle["master"] != "yarn":
            return Kubernetes(self.settings, self.application)
        if self._yarn is None:
            self._yarn = Yarn(self.settings, self.application)
        return self._yarn


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """A Kubernetes cluster, asked by spark-submit."""

    settings: SubmitSettings
    application: SparkApplication

    def ask(self, handle: Handle) -> AppReport:
        """Return what became of the driver's pod."""
        return kubernetes_status(self._run("--status", handle))

    def kill(self, handle: Handle) -> None:
        """Have the driver's pod deleted, and its executors with it."""
        self._run("--kill", handle)

    def _run(self, what: str, handle: Handle) -> str:
        settings = self.settings
        # They may say how to log in to the cluster, and are not for everybody to read.
        file = write_properties(settings.scratch / "ask.properties", self.application.conf)
        command = [str(settings.home / "bin" / "spark-submit"), "--master", handle["master"]]
        command += ["--properties-file", str(file), "--load-spark-defaults"]
        command += [what, handle["submission_id"]]
        return _output(command, settings.of_programs())


@dataclass(slots=True)
class Yarn:
    """A YARN cluster, asked by Hadoop's `yarn`, as the user whom the application runs for."""

    settings: SubmitSettings
    application: SparkApplication
    _logged_in: bool = field(default=False, init=False)

    def ask(self, handle: Handle) -> AppReport:
        """Return what became of the application, found by its tag if its id is not known."""
        application_id = self._id(handle)
        if isinstance(application_id, AppReport):
            return application_id
        told = yarn_report(self._run("-status", application_id))
        self._logged_in = self._logged_in and told.outcome is not AppOutcome.UNKNOWN
        return told

    def kill(self, handle: Handle) -> None:
        """Have the application killed."""
        application_id = self._id(handle)
        if isinstance(application_id, str):
            self._run("-kill", application_id)

    def _id(self, handle: Handle) -> str | AppReport:
        if "application_id" in handle:
            return handle["application_id"]
        output = self._run("-list", "-appStates", "ALL", "-appTags", handle["tag"])
        found = yarn_list(output)
        if found is None:
            self._logged_in = False
            return AppReport(AppOutcome.UNKNOWN, output.strip()[-500:])
        return (
            found[0]
            if found
            else AppReport(AppOutcome.ABSENT, f"None has the tag {handle['tag']}.")
        )

    def _run(self, *arguments: str) -> str:
        environment = self.settings.of_programs()
        if self.application.proxy_user:
            environment["HADOOP_PROXY_USER"] = self.application.proxy_user
        if self.application.principal and self.application.keytab:
            environment["KRB5CCNAME"] = f"FILE:{self._log_in(environment)}"
        return _output([yarn_program(environment), "application", *arguments], environment)

    def _log_in(self, environment: dict[str, str]) -> Path:
        cache, application = self.settings.scratch / "krb5cc", self.application
        if not self._logged_in:
            name, keytab = str(application.principal), str(application.keytab)
            _output(["kinit", "-c", f"FILE:{cache}", "-kt", keytab, name], environment)
            self._logged_in = True
        return cache


def yarn_program(environment: Mapping[str, str]) -> str:
    """Return the path of Hadoop's `yarn`, by HADOOP_HOME or on the PATH."""
    home = environment.get("HADOOP_HOME")
    if home and (Path(home) / "bin" / "yarn").exists():
        return str(Path(home) / "bin" / "yarn")
    found = shutil.which("yarn", path=environment.get("PATH"))
    if found is None:
        raise AirflowFailException(
            "Cluster mode on YARN needs Hadoop's command `yarn` on the worker, to ask what "
            "became of an application. Put it on the PATH or set HADOOP_HOME, or use "
            "deploy_mode='client'."
        )
    return found


def _output(command: list[str], environment: dict[str, str]) -> str:
    """Return all that a command prints; its exit code says too little to be of use."""
    try:
        ended = subprocess.run(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
            process_group=0,  # a signal for the attempt is not for the tool that it asks
        )
    except subprocess.TimeoutExpired:
        return f"{Path(command[0]).name} did not end within {_SECONDS:g} s"
    except OSError as error:
        return f"cannot run {command[0]}: {error.strerror}"
    return ended.stdout.decode(errors="replace")
