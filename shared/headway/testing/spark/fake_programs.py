"""Stand-ins for `spark-submit`, `yarn` and `kinit`, as programs: a cluster that is a folder.

This file is written as each of these programs, and run by their names.  It takes what the
real ones take in cluster mode, keeps each application as a file beside it, and says what
they say.  Files of these names, made by a test, are its faults: `silent` (nobody answers),
`refusing` (nothing is accepted), `stalling` (nothing is accepted yet), `hanging` (accepted, and
then no answer comes).

In client mode the driver is this process: it runs until a file `done` is there, and with a
file `clinging` it does not heed SIGTERM, as a driver whose shutdown hook hangs.
"""

import json
import os
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

HOME = Path(__file__).resolve().parent.parent
APPS = HOME / "apps"


def main(arguments: list[str]) -> int:
    """Be the program of that name."""
    note(arguments)
    program = Path(sys.argv[0]).name
    if program == "kinit":
        Path(arguments[1].removeprefix("FILE:")).write_text("ticket")
        return 0
    if (HOME / "silent").exists():
        return say("java.net.ConnectException: Connection refused", 255)
    if program == "yarn":
        return yarn(arguments[1:])
    for option, act in (("--status", kubernetes_status), ("--kill", kubernetes_kill)):
        if option in arguments:
            return act(arguments[arguments.index(option) + 1])
    return submit(arguments)


def note(arguments: list[str]) -> None:
    """Keep the command line, and who asked, for the test to look at."""
    environment = dict(os.environ)  # noqa: TID251 - this is a program of its own
    asked = {"command": [Path(sys.argv[0]).name, *arguments], "environment": environment}
    with (HOME / "calls.jsonl").open("ab", buffering=0) as calls:  # in one piece, beside others
        calls.write(f"{json.dumps(asked)}\n".encode())


def submit(arguments: list[str]) -> int:
    """Take an application, and say so; wait for its end unless it is told not to."""
    given = options(arguments)
    conf = configured(Path(given["--properties-file"]))
    if given.get("--deploy-mode") != "cluster":
        return be_the_driver()
    while (HOME / "stalling").exists():
        time.sleep(0.05)  # noqa: TID251
    if (HOME / "refusing").exists():
        return say("Exception in thread main: the queue is full", 1)
    on_yarn = given["--master"] == "yarn"
    waits = "spark.yarn.submit" if on_yarn else "spark.kubernetes.submission"
    if conf.get(f"{waits}.waitAppCompletion") != "false":
        return say("this stand-in waits for nobody", 2)
    app = yarn_application(conf) if on_yarn else kubernetes_application(conf)
    if app is None:
        return say("pods already exists", 1)
    write(app)
    if (HOME / "hanging").exists():
        time.sleep(3600)  # noqa: TID251
    if on_yarn:
        return say(f"26/11/21 10:00:00 INFO YarnClientImpl: Submitted application {app['id']}")
    return say(
        f"26/11/21 10:00:00 INFO LoggingPodStatusWatcherImpl: Deployed Spark application "
        f"{given.get('--name')} with application ID {app['id']} and submission ID {app['pod']} "
        "into Kubernetes"
    )


def be_the_driver() -> int:
    """Run as a driver in client mode does, of which the executors are lost."""
    if (HOME / "clinging").exists():
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say("26/11/21 10:00:00 WARN TaskSchedulerImpl: Initial job has not accepted any resources")
    (HOME / "driver").write_text(str(os.getpid()))
    while not (HOME / "done").exists():
        time.sleep(0.05)  # noqa: TID251
    return 0


def yarn_application(conf: dict[str, str]) -> dict[str, str]:
    """Return a new application, with the tags that it was given."""
    number = len(list(APPS.iterdir())) + 1
    name = f"application_1700000000000_{number:04}"
    return {"id": name, "tags": conf["spark.yarn.tags"], "state": "RUNNING", "final": "UNDEFINED"}


def kubernetes_application(conf: dict[str, str]) -> dict[str, str] | None:
    """Return a new pod; None if there is one of that name."""
    namespace = conf.get("spark.kubernetes.namespace", "default")
    pod = f"{namespace}:{conf['spark.kubernetes.driver.pod.name']}"
    if any(app["pod"] == pod for app in applications()):
        return None
    number = len(list(APPS.iterdir())) + 1
    return {"id": f"spark-{number:032x}", "pod": pod, "state": "RUNNING", "final": "UNDEFINED"}


def yarn(arguments: list[str]) -> int:
    """Answer `yarn application …`."""
    given = options(arguments)
    if "-list" in arguments:
        found = [app for app in applications() if given["-appTags"] in app["tags"].split(",")]
        say(f"Total number of applications (application-types: [], tags: []):{len(found)}")
        return say("\n".join(f"{app['id']}\tflights\tSPARK\t{app['state']}" for app in found))
    name = given.get("-status") or given["-kill"]
    app = next((app for app in applications() if app["id"] == name), None)
    if app is None:
        return say(f"Application with id '{name}' doesn't exist in RM or Timeline Server.", 255)
    if "-kill" in arguments:
        end(app, "KILLED", "KILLED")
        return say(f"Killing application {name}")
    say(f"Application Report :\n\tApplication-Id : {name}\n\tState : {app['state']}")
    return say(f"\tFinal-State : {app['final']}\n\tDiagnostics : {app.get('why', '')}")


def kubernetes_status(name: str) -> int:
    """Answer `spark-submit --status`."""
    app = next((app for app in applications() if app["pod"] == name), None)
    if app is None:
        return say("Application not found.")
    phases = {"SUCCEEDED": "Succeeded", "FAILED": "Failed", "UNDEFINED": "Running"}
    pod = name.partition(":")[2]
    say(f"Application status (driver):\n\t pod name: {pod}\n\t phase: {phases[app['final']]}")
    return say("\t container status:\n\t\t container name: spark-kubernetes-driver")


def kubernetes_kill(name: str) -> int:
    """Answer `spark-submit --kill`, which deletes the pod."""
    app = next((app for app in applications() if app["pod"] == name), None)
    if app is None:
        return say("Application not found.")
    end(app, "DELETED", "FAILED")
    if app["state"] == "DELETED":
        (APPS / app["id"]).rename(HOME / "deleted" / app["id"])
    return say(f"Deleting driver pod: {name}.")


def end(app: dict[str, str], state: str, final: str) -> None:
    """End an application, unless it clings to life."""
    if app["state"] == "RUNNING" and not (HOME / "clinging").exists():
        app |= {"state": state, "final": final}
        write(app)


def applications() -> list[dict[str, str]]:
    """Return all that there are."""
    return [json.loads(file.read_text()) for file in sorted(APPS.iterdir())]


def write(app: dict[str, str]) -> None:
    """Keep an application, whole or not at all."""
    draft = HOME / f"draft-{os.getpid()}"
    draft.write_text(json.dumps(app))
    draft.rename(APPS / app["id"])


def options(arguments: list[str]) -> dict[str, str]:
    """Return the options that have a value."""
    return {name: value for name, value in pairwise(arguments) if name.startswith("-")}


def configured(file: Path) -> dict[str, str]:
    """Return the properties in a file, with Spark's defaults for what it does not have."""
    defaults = HOME / "conf" / "spark-defaults.conf"
    return (properties(defaults) if defaults.exists() else {}) | properties(file)


def properties(file: Path) -> dict[str, str]:
    """Read a file of Java properties that has no other escapes than one backslash."""
    found = {}
    for line in file.read_text().splitlines():
        key, _, value = line.replace("\\=", "\0").partition("=")
        found[plain(key)] = plain(value)
    return found


def plain(text: str) -> str:
    """Undo the escapes of a property."""
    return text.replace("\0", "=").replace("\\", "")


def say(line: str, code: int = 0) -> int:
    """Print a line, and return an exit code."""
    print(line, flush=True)  # noqa: T201
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
