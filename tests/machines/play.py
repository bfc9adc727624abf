"""The page docs/deploy/three-machines.md, carried out; then a machine loses its network."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.machines.machine import Machine, machines
from tests.machines.page import COMPUTER, steps

from headway.testing.time.clock import until

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "deploy" / "three-machines.md"
ADDRESSES: Final = {"db": "10.0.0.1", "a": "10.0.0.2", "b": "10.0.0.3"}
SERVICES: Final = ("api", "parser", "scheduler", "worker")
TASKS: Final = 12
PROGRAMS: Final = {
    "/lib/systemd/systemd": "systemd",
    "/usr/sbin/ip": "iproute2",
    "/usr/bin/nsenter": "util-linux",
    "/usr/bin/openssl": "openssl",
    "/usr/bin/pg_createcluster": "postgresql-15",
}
"""What has to be there, and the package that has it."""

# The packages of the page come from an index; here they are those of the checkout.
_FROM_INDEX: Final = (
    "/opt/headway/bin/pip install --require-hashes --requirement deploy/requirements-spark.txt"
)
_FROM_HERE: Final = (
    "(cd /opt/headway/lib/python3.*/site-packages && echo /opt/packages > packages.pth)"
)

_DAG: Final = f"""
import time
from headway.sdk import dag, task, get_current_context

def note(what):
    ti = get_current_context()["ti"]
    with open("/srv/data/records", "a") as file:
        file.write(f"{{what}} {{ti.map_index}} {{ti.try_number}}\\n")

@dag(dag_id="records", schedule=None)
def records():
    @task
    def work(number):
        note("start")
        time.sleep(28)  # longer than a lease: no attempt ends without its worker
        note("end")
    work.expand(number=list(range({TASKS})))

records()
"""
_DROP_IN: Final = "[Service]\nReadWritePaths=/srv/data\n"
_USER: Final = "set -a; . /etc/headway/user.env; set +a; /opt/headway/bin/headway"


@dataclass(slots=True)
class Result:
    """What came of it."""

    tasks: int = 0
    violations: list[str] = field(default_factory=list)
    started: float = field(default_factory=time.monotonic)

    def say(self, what: str) -> None:
        """Print what goes on, and since when."""
        print(f"{time.monotonic() - self.started:6.1f} s  {what}", flush=True)


def missing() -> str:
    """Return why nothing can be played here; nothing if it can."""
    if os.geteuid() != 0:
        return "Machines need root: run `make machines` as root."
    lacking = sorted(name for path, name in PROGRAMS.items() if not Path(path).exists())
    if lacking:
        return f"Machines need Debian's packages: apt-get install {' '.join(lacking)}"
    asked = ["/usr/bin/python3", "-c", "import sys, ensurepip; print(sys.version_info[:2])"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if found.stdout.strip() != str(sys.version_info[:2]):
        return (
            f"Machines run /usr/bin/python3 with the packages of .venv, and need both of one "
            f"version, with python3-venv: {found.stdout or found.stderr}"
        )
    return ""


def play(root: Path) -> Result:
    """Do all of it; nothing is left running afterwards."""
    result = Result()
    subprocess.run([ROOT / "deploy" / "wheel", root / "computer" / "dist"], check=True)
    shutil.copytree(ROOT / "deploy", root / "computer" / "deploy")
    packages = Path(sysconfig.get_path("purelib"))
    with ExitStack() as ending:
        db, a, b = ending.enter_context(machines(root / "machines", ADDRESSES, packages))
        result.say("three machines have booted")
        db.run("pg_createcluster 15 main && systemctl start postgresql")
        _follow_the_page(root / "computer", {"db": db, "a": a, "b": b}, result)
        _look_at_the_sandbox(a, result)
        _first_run(a, result)
        _lose_a_machine(a, b, result)
        _stop(a, b, result)
    return result


def _follow_the_page(computer: Path, all_machines: dict[str, Machine], result: Result) -> None:
    path = f"{_ssh(computer, all_machines)}:{os.environ['PATH']}"
    for step in steps(PAGE):
        script = step.script.replace(_FROM_INDEX, _FROM_HERE)
        for name in step.machines:
            if name == COMPUTER:
                command = ["bash", "-euo", "pipefail", "-c", script]
                subprocess.run(command, cwd=computer, env={"PATH": path}, check=True)
            else:
                said = all_machines[name].run(script)
                result.violations += [line for line in said.splitlines() if _is_wrong(line)]
        result.say(f"on {', '.join(step.machines)}: {step.script.splitlines()[0]} …")


def _is_wrong(line: str) -> bool:
    return line.startswith("WRONG")  # a row of `headway doctor`


def _ssh(computer: Path, all_machines: dict[str, Machine]) -> Path:
    """Make a program `ssh root@MACHINE COMMAND`, which goes to a machine without a network."""
    cases = "\n".join(
        f'  root@{name}) shift; exec {" ".join(machine.enter("bash", "-c"))} "$*" ;;'
        for name, machine in all_machines.items()
    )
    program = computer / "bin" / "ssh"
    program.parent.mkdir()
    program.write_text(f'#!/bin/bash\ncase "$1" in\n{cases}\nesac\nexit 255\n')
    program.chmod(0o755)
    return program.parent


def _look_at_the_sandbox(machine: Machine, result: Result) -> None:
    """Note layers of the parser's sandbox that hardening by systemd has taken away."""
    log = machine.run("journalctl --unit headway-parser --output cat")
    line = next(line for line in log.splitlines() if "action=isolate" in line)
    result.violations += [
        f"the parser's sandbox is without {layer}"
        for layer in ("PID namespace", "/proc of its own", "limits", "capabilities", "Landlock")
        if layer not in line
    ]


def _headway(machine: Machine, *words: str) -> Any:
    """Return what a user's command answers on that machine, in JSON."""
    return json.loads(machine.run(f"{_USER} {' '.join(words)} -o json || test $? = 1"))


def _alive(machine: Machine) -> dict[str, int]:
    [status] = _headway(machine, "status")
    return {row["kind"]: row["alive"] for row in status["services"]}


def _first_run(machine: Machine, result: Result) -> None:
    until(lambda: _alive(machine) == dict.fromkeys(SERVICES, 2), "two of each service")
    until(lambda: _state(machine, "hello") == "success", "the first run")
    result.say("two of each service; the run of the page is a success")


def _state(machine: Machine, dag_id: str) -> str:
    return str(_headway(machine, "runs", "list", dag_id)[0]["state"])


def _lose_a_machine(a: Machine, b: Machine, result: Result) -> None:
    for machine in (a, b):
        machine.run(
            "mkdir -p /srv/data /etc/systemd/system/headway-worker.service.d && "
            "chown headway-worker /srv/data && "
            f"printf '{_DROP_IN}' > /etc/systemd/system/headway-worker.service.d/data.conf && "
            "systemctl daemon-reload && systemctl restart headway-worker && "
            f"cat > /srv/headway/dags/records.py <<'END'\n{_DAG}\nEND"
        )
    until(lambda: _headway(a, "dags", "list")[-1]["dag_id"] == "records", "the second DAG")
    until(lambda: _alive(a)["worker"] == 2, "both workers again")
    a.run(f"{_USER} dags trigger records")
    until(
        lambda: min(_records(machine).count("start") for machine in (a, b)) >= 3,
        "tasks on both machines",
    )
    b.cut()
    cut = time.monotonic()
    lost = _records(b).count("start") - _records(b).count("end")
    before = _records(a).count("start")
    result.say(f"b is off the network, with {lost} tasks that it runs")
    until(lambda: _second_try(a), "a task of b that a has begun anew")
    result.say(f"a has begun a task of b {time.monotonic() - cut:.1f} s after that")
    until(lambda: _state(a, "records") == "success", "the run without b")
    result.say(f"the run is a success; a has begun {_records(a).count('start') - before} tasks")
    b.join()
    until(lambda: _alive(a) == dict.fromkeys(SERVICES, 2), "the services of b")
    result.say("b is back, and its services have joined")
    _judge(a, b, result)


def _records(machine: Machine) -> str:
    return machine.run("cat /srv/data/records 2> /dev/null || true")


def _second_try(machine: Machine) -> bool:
    attempts = [line.split() for line in _records(machine).splitlines()]
    return any(what == "start" and int(number) > 1 for what, _, number in attempts)


def _judge(a: Machine, b: Machine, result: Result) -> None:
    ends: Counter[str] = Counter()
    for machine in (a, b):
        lines = [line.split() for line in _records(machine).splitlines()]
        ends.update(index for what, index, _ in lines if what == "end")
    result.tasks = len(ends)
    result.violations += [
        f"task {index} has ended {ends[str(index)]} times"
        for index in range(TASKS)
        if ends[str(index)] != 1
    ]


def _stop(a: Machine, b: Machine, result: Result) -> None:
    for machine in (a, b):
        machine.run("systemctl stop headway.target")
        until(lambda: "deactivating" not in _ends(machine), f"the services of {machine.name} end")  # noqa: B023
        if _ends(machine) != ["success", "inactive"] * len(SERVICES):
            result.violations.append(f"services on {machine.name}: {_ends(machine)}")
    result.say("all services have stopped")


def _ends(machine: Machine) -> list[str]:
    units = " ".join(f"headway-{service}" for service in SERVICES)
    return machine.run(f"systemctl show --value --property=Result,ActiveState {units}").split()
