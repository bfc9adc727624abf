"""A tethered program ends with its parent, however that ends."""

import os
import pwd
import signal
import subprocess
import sys

import pytest

from headway.runtime.processes import parent_death
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.processes.starting import uninterrupted

linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux signals a parent's death")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")

# The child shares the launcher's output, which therefore ends when both have ended.
LAUNCHER = """
import signal, subprocess, sys
from headway.runtime.processes.parent_death import dies_with_parent
user = sys.argv[2] or None
death = signal.Signals[sys.argv[1]]
command = dies_with_parent(["sh", "-c", sys.argv[3]], on_death=death, user=user)
subprocess.Popen(command, start_new_session=True).wait()
"""
SERVICE = """
import os, sys, threading
from headway.runtime.processes.parent_death import die_with_parent
die_with_parent(parent=os.getppid())
print("ready", flush=True)
threading.Event().wait()
"""


def launch(on_death: str, shell: str, user: str = "") -> "subprocess.Popen[str]":
    """Start a launcher of `shell`, which must print a line once it is up; wait for that."""
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, on_death, user, shell], stdout=subprocess.PIPE, text=True
    )
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"
    return launcher


def output_after_death(launcher: "subprocess.Popen[str]") -> str:
    launcher.kill()
    output, _ = launcher.communicate(timeout=10)
    return output


@linux
@pytest.mark.parametrize("user", ["", pytest.param("nobody", marks=as_root)])
def test_it_dies_when_its_parent_is_killed(user: str) -> None:
    launcher = launch("SIGKILL", "echo ready; exec sleep 600", user)

    assert output_after_death(launcher) == ""


@linux
def test_it_gets_the_signal_that_was_asked_for() -> None:
    launcher = launch(
        "SIGINT", "trap 'echo stopped; exit' INT; echo ready; while :; do sleep 0.05; done"
    )

    assert output_after_death(launcher) == "stopped\n"


@linux
def test_a_service_can_die_with_its_parent() -> None:
    script = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SERVICE!r}])"
    launcher = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == "ready\n"

    assert output_after_death(launcher) == ""


def test_it_does_not_start_when_its_parent_is_already_gone() -> None:
    options = ["--parent", str(os.getppid()), "--signal", "KILL"]
    late = subprocess.run(
        [sys.executable, parent_death.__file__, *options, "--", "echo", "started"],
        capture_output=True,
        check=False,
    )

    assert (late.returncode, late.stdout) == (-signal.SIGKILL, b"")


def test_the_module_runs_a_command_with_its_arguments_and_status() -> None:
    command = ["sh", "-c", 'echo "$@"; exit 3', "sh", "a b", "--", "--user"]
    result = subprocess.run(
        [sys.executable, "-m", "headway.runtime.processes.parent_death", "--", *command],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (result.returncode, result.stdout) == (3, "a b -- --user\n")


def test_it_keeps_the_pid_that_popen_gave() -> None:
    with subprocess.Popen(
        dies_with_parent(["sh", "-c", "echo $$"]), stdout=subprocess.PIPE, text=True
    ) as child:
        output, _ = child.communicate(timeout=10)

    assert int(output) == child.pid


@linux
def test_nothing_that_python_ignores_is_ignored_by_the_command() -> None:
    status = subprocess.run(
        dies_with_parent(["grep", "SigIgn", "/proc/self/status"]),
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    ignored = int(status.split()[1], 16)
    assert not ignored & 1 << (signal.SIGPIPE - 1)
    assert not ignored & 1 << (signal.SIGXFSZ - 1)


@linux
def test_nothing_that_waits_here_waits_in_the_command() -> None:
    with uninterrupted():
        status = subprocess.run(
            dies_with_parent(["grep", "SigBlk", "/proc/self/status"]),
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    assert int(status.split()[1], 16) == 0


def test_a_command_that_does_not_exist_is_named() -> None:
    result = subprocess.run(
        dies_with_parent(["no-such-command"]), capture_output=True, text=True, check=False
    )

    assert result.returncode != 0
    assert result.stderr == "Cannot run no-such-command: No such file or directory.\n"


@as_root
def test_another_user_brings_its_own_group_only() -> None:
    nobody = pwd.getpwnam("nobody")
    show = "id -u; id -G"
    output = subprocess.run(
        dies_with_parent(["sh", "-c", show], user="nobody"),
        extra_groups=[1, 2],
        capture_output=True,
        text=True,
        check=True,
    ).stdout

    assert output.split() == [str(nobody.pw_uid), str(nobody.pw_gid)]
