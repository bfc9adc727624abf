"""The command of spark-submit for an application, and what goes with it.  Pure."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from headway.sdk.exceptions import AirflowFailException
from headway.sdk.runtime import SparkApplication

ATTEMPT: Final = "spark.headway.attempt"
"""The property that says which attempt an application belongs to."""

_CLUSTER_MASTERS: Final = ("yarn", "k8s://")
_EVENT_LOG: Final = "spark.eventLog."

# What Spark's own clients log, and nothing that an application may print by chance.
_LOGGED_ID: Final = re.compile(
    r"(?:app ID|application ID|Submitted application|Application (?:report|status) for) "
    r"(app-\d{14}-\d{4,}|application_\d+_\d+|spark-[0-9a-f]{32})\b"
)
_CHATTER: Final = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:DEBUG|INFO) ")
_EVENT_LOG_NAME: Final = re.compile(r"(?:eventlog_v2_)?(local-\d+)(?:\.\w+)*")


def build_command(
    application: SparkApplication, home: Path, master: str, properties_file: Path
) -> list[str]:
    """Return the command line that submits the application to `master`.

    Its properties go into `properties_file`, for they may hold secrets and every user
    of the machine can read a command line.
    """
    _check_deploy_mode(application, master)
    command = [str(home / "bin" / "spark-submit"), "--master", master]
    command += ["--properties-file", str(properties_file), "--load-spark-defaults"]
    for option, value in _options(application).items():
        if value is not None:
            command += [option, str(value)]
    return [*command, application.application, *application.application_args]


def properties(
    application: SparkApplication, attempt_key: str, master: str, settled: Mapping[str, str]
) -> dict[str, str]:
    """Return the properties to submit with: `settled` ones, the application's, and the attempt's.

    The attempt is named where the cluster's own tools show it.
    """
    merged = {**settled, **application.conf, ATTEMPT: attempt_key}
    if master == "yarn":
        tags = [merged.get("spark.yarn.tags"), _label(attempt_key)]
        merged["spark.yarn.tags"] = ",".join(tag for tag in tags if tag)
    if master.startswith("k8s://"):
        merged["spark.kubernetes.driver.label.headway-attempt"] = _label(attempt_key)
    return merged


def with_event_log(given: Mapping[str, str], master: str, folder: Path) -> dict[str, str]:
    """Add an event log in `folder` to a driver that has no other way to tell its id.

    A driver with a local master logs its id nowhere.  One on a cluster does, and its
    event log may belong to a history server.
    """
    if not master.startswith("local") or any(key.startswith(_EVENT_LOG) for key in given):
        return dict(given)
    return {**given, "spark.eventLog.enabled": "true", "spark.eventLog.dir": folder.as_uri()}


def render_properties(given: Mapping[str, str]) -> str:
    """Return a file of Java properties that reads back as `given`."""
    return "".join(f"{_escaped(key)}={_escaped(value)}\n" for key, value in given.items())


def logged_id(line: str) -> str | None:
    """Return the id of the application that a line of Spark's log tells."""
    found = _LOGGED_ID.search(line)
    return found[1] if found else None


def is_chatter(line: str) -> bool:
    """Return whether a line of a driver's output is Spark's account of its own doings.

    An application's own error comes before dozens of them, which tell of the shutdown.
    """
    return _CHATTER.match(line) is not None


def event_log_id(name: str) -> str | None:
    """Return the id of the application whose event log is a file or folder of that name."""
    found = _EVENT_LOG_NAME.fullmatch(name)
    return found[1] if found else None


def _check_deploy_mode(application: SparkApplication, master: str) -> None:
    mode = application.deploy_mode
    if mode not in (None, "client", "cluster"):
        raise AirflowFailException(f"deploy_mode must be 'client' or 'cluster', not {mode!r}.")
    if mode == "cluster" and not master.startswith(_CLUSTER_MASTERS):
        raise AirflowFailException(
            f"deploy_mode='cluster' works on YARN and Kubernetes only, and this task's Spark "
            f"master is {master}. Leave deploy_mode out, or choose another Spark connection."
        )


def _options(application: SparkApplication) -> dict[str, str | int | None]:
    return {
        "--deploy-mode": application.deploy_mode,
        "--name": application.name,
        "--class": application.java_class,
        "--py-files": _list(application.py_files),
        "--jars": _list(application.jars),
        "--packages": _list(application.packages),
        "--files": _list(application.files),
        "--num-executors": application.num_executors,
        "--executor-cores": application.executor_cores,
        "--executor-memory": application.executor_memory,
        "--driver-memory": application.driver_memory,
        "--principal": application.principal,
        "--keytab": application.keytab,
        "--proxy-user": application.proxy_user,
    }


def _list(items: tuple[str, ...]) -> str | None:
    return ",".join(items) or None


def _label(attempt_key: str) -> str:
    """Return the key as Kubernetes and YARN accept it."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", attempt_key)[:63].strip("_.-")


def _escaped(text: str) -> str:
    special = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f"}
    special |= {character: "\\" + character for character in " :=#!"}
    return "".join(special.get(character, character) for character in text)
