"""The command of spark-submit for an application, and what goes with it.  Pure."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from headway.sdk.exceptions import AirflowFailException
from headway.sdk.running.task_runtime import SparkApplication
from headway_worker.spark.figures.event_log import event_log_conf
from headway_worker.spark.target.connection import SparkConnection

ATTEMPT: Final = "spark.headway.attempt"
"""The property that says which attempt an application belongs to."""

_CLUSTER_MASTERS: Final = ("yarn", "k8s://")
_EVENT_LOG: Final = "spark.eventLog."
_WEB_PORT: Final = "spark.ui.port"
_POD: Final = "spark.kubernetes.driver.pod.name"
_NAMESPACE: Final = "spark.kubernetes.namespace"
_BY_DEFAULT: Final = re.compile(
    rf"^[ \t\f]*{re.escape(_NAMESPACE)}(?:[ \t\f]*[=:]|[ \t\f])[ \t\f]*(\S+)[ \t\f]*$",
    re.MULTILINE,
)

# What Spark's own clients log, and nothing that an application may print by chance.
_LOGGED_ID: Final = re.compile(
    r"(?:app ID|application ID|Submitted application|Application (?:report|status) for) "
    r"(app-\d{14}-\d{4,}|application_\d+_\d+|spark-[0-9a-f]{32})\b"
)
_CHATTER: Final = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:DEBUG|INFO) ")
_EVENT_LOG_NAME: Final = re.compile(r"(?:eventlog_v2_)?(local-\d+)(?:\.\w+)*")


def completed(application: SparkApplication, connection: SparkConnection) -> SparkApplication:
    """Return the application with what its connection says where it says nothing itself.

    Whoever names a user of its own does without the connection's.
    """
    own = application.principal or application.keytab or application.proxy_user
    said = application if own else connection
    return replace(
        application,
        conf={**connection.conf, **application.conf},
        deploy_mode=application.deploy_mode or connection.deploy_mode,
        principal=said.principal,
        keytab=said.keytab,
        proxy_user=said.proxy_user,
    )


def placed(
    application: SparkApplication, master: str, spark_defaults: Callable[[], str]
) -> SparkApplication:
    """Return the application with the namespace of its driver's pod among its properties.

    So it is submitted to where it is looked for afterwards.  `spark_defaults` returns the text
    of the spark-defaults.conf that spark-submit would find it in.
    """
    if not _is_pod(application, master) or _NAMESPACE in application.conf:
        return application
    named = [*_BY_DEFAULT.findall(spark_defaults())] or ["default"]
    return replace(application, conf={**application.conf, _NAMESPACE: named[-1]})


def own_driver(connection: SparkConnection) -> SparkApplication:
    """Return what the driver of an attempt's own is as an application on that connection.

    It runs in the attempt's process, in client mode, wherever applications' drivers run.
    """
    shell = SparkApplication(application="pyspark-shell", deploy_mode="client")
    return completed(shell, connection)


def new_tag(attempt_key: str, unique: str) -> str:
    """Return a name for an application that no other one has, as YARN and Kubernetes accept it."""
    return re.sub(r"[^a-z0-9]+", "-", f"headway-{attempt_key[:32]}-{unique}".lower())


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
    if application.verbose:
        command.append("--verbose")
    return [*command, application.application, *application.application_args]


def properties(
    application: SparkApplication, attempt_key: str, tag: str, master: str
) -> dict[str, str]:
    """Return the properties to submit with: the application's, and those of the attempt.

    The attempt is named where the cluster's own tools show it.  In cluster mode nothing
    waits for the end, and the application can be found again by its `tag`.
    """
    merged = {**application.conf, ATTEMPT: attempt_key}
    in_cluster = application.deploy_mode == "cluster"
    if master == "yarn":
        tags = [merged.get("spark.yarn.tags"), tag]
        merged["spark.yarn.tags"] = ",".join(each for each in tags if each)
    if master.startswith("k8s://"):
        for role in ("driver", "executor"):
            merged[f"spark.kubernetes.{role}.label.headway-attempt"] = _label(attempt_key)
    if in_cluster:
        merged |= _in_cluster(application, tag, master)
    return merged


def submission_id(application: SparkApplication, tag: str, master: str) -> str | None:
    """Return the name of an application, `placed`, that is known before it is submitted; else None.

    On Kubernetes it is `namespace:pod`, and a second pod of one name is refused there.
    """
    return f"{application.conf[_NAMESPACE]}:{_pod(tag)}" if _is_pod(application, master) else None


def watched(given: Mapping[str, str], defaults: Collection[str], scratch: Path) -> dict[str, str]:
    """Add what makes a driver on this machine tell how far it is, and what it took.

    That is a port for its web interface, and an event log below `scratch`, from which its id
    is known as well if it has a local master.  What is configured is left alone, here or by the
    `defaults`, the names of Spark's own: it may be for a history server.
    """
    found = with_free_port(given, defaults)
    if any(key.startswith(_EVENT_LOG) for key in (*given, *defaults)):
        return found
    return found | event_log_conf(scratch)


def with_free_port(given: Mapping[str, str], defaults: Collection[str]) -> dict[str, str]:
    """Have the web interface of a driver on this machine take any free port, unless one is named.

    Drivers of many attempts would try the same ones one after the other, sixteen at most.
    """
    named = _WEB_PORT in given or _WEB_PORT in defaults
    return dict(given) if named else {**given, _WEB_PORT: "0"}


def named_in(defaults: str) -> frozenset[str]:
    """Return the properties that a file such as spark-defaults.conf sets."""
    lines = (line.strip() for line in defaults.splitlines())
    return frozenset(re.split(r"[\s=:]", line, maxsplit=1)[0] for line in lines if line[:1] != "#")


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


def _in_cluster(application: SparkApplication, tag: str, master: str) -> dict[str, str]:
    if master == "yarn":
        variables = "spark.yarn.appMasterEnv."
        given = {"spark.yarn.submit.waitAppCompletion": "false"}
    else:
        variables = "spark.kubernetes.driverEnv."
        if _POD in application.conf:
            raise AirflowFailException(
                f"{_POD} is for Headway to choose, to find the driver again by it; leave it out."
            )
        given = {"spark.kubernetes.submission.waitAppCompletion": "false", _POD: _pod(tag)}
    return given | {variables + name: value for name, value in application.env_vars.items()}


def _is_pod(application: SparkApplication, master: str) -> bool:
    """Whether its driver is a pod of which the name is Headway's."""
    return application.deploy_mode == "cluster" and master.startswith("k8s://")


def _pod(tag: str) -> str:
    return f"{tag}-driver"


def _check_deploy_mode(application: SparkApplication, master: str) -> None:
    if application.deploy_mode == "cluster" and not master.startswith(_CLUSTER_MASTERS):
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
        "--exclude-packages": _list(application.exclude_packages),
        "--repositories": _list(application.repositories),
        "--files": _list(application.files),
        "--archives": _list(application.archives),
        "--driver-class-path": application.driver_class_path,
        "--num-executors": application.num_executors,
        "--executor-cores": application.executor_cores,
        "--total-executor-cores": application.total_executor_cores,
        "--executor-memory": application.executor_memory,
        "--driver-cores": application.driver_cores,
        "--driver-memory": application.driver_memory,
        "--queue": application.yarn_queue,
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
