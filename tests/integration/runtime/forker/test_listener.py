"""`headway forker`: a fork server that supervisors find at a socket."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headway.runtime.forker import ChildSpec, Exit, Forker, ForkerError
from headway.runtime.forker import ping as pings
from headway.runtime.forker.listener import _MOST_NEWCOMERS
from headway.runtime.forker.ping import ping
from headway.runtime.processes.frames import receive_frame
from headway.runtime.sandbox import Sandbox
from headway.testing.processes.sandboxes import LONG, outcomes, spawn
from headway.testing.time.clock import until

HERE = Path(__file__).parents[2]
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(HERE)}
COMMAND = [sys.executable, "-m", "headway.cli", "forker"]

Program = subprocess.Popen[bytes]


def launch(path: Path, *options: str) -> Program:
    command = [*COMMAND, "--socket", str(path), "--preload", "sandbox_targets", *options]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE)


def listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def wait_until(path: Path, program: Program) -> None:
    deadline = time.monotonic() + LONG
    while not listens(path):  # it is bound a moment earlier
        assert program.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "forker.sock"


@pytest.fixture
def program(path: Path) -> Iterator[Program]:
    with launch(path) as started:
        wait_until(path, started)
        yield started
        started.terminate()
        assert started.wait(LONG) == 0
    assert not path.exists()


def test_it_serves_one_supervisor_after_the_other(program: Program, path: Path) -> None:
    for _ in range(2):
        with Forker.connect(path, sandbox=Sandbox()) as forker:
            assert forker.pid == program.pid
            assert forker.alive()
            assert forker.isolation is not None
            assert outcomes(forker, ("raw", "getpid"))
        assert not forker.alive()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660


def children(program: Program) -> list[int]:
    return [process.pid for process in psutil.Process(program.pid).children()]


def test_it_tells_whether_it_answers_and_forks_nothing_for_that(
    program: Program, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ping(path) == 0
    assert children(program) == []
    with Forker.connect(path):
        [server] = children(program)
        assert ping(path) == 1
        assert children(program) == [server]

        program.send_signal(signal.SIGSTOP)
        try:
            monkeypatch.setattr(pings, "PATIENCE", 0.2)
            with pytest.raises(ForkerError, match=f"does not answer at {path}: timed out"):
                ping(path)
        finally:
            program.send_signal(signal.SIGCONT)
        monkeypatch.undo()
        assert ping(path) == 1


def test_the_command_tells_it_by_its_exit_status(program: Program, path: Path) -> None:
    command = [sys.executable, "-m", "headway.cli", "health", "forker", "--socket"]

    def asked(at: Path) -> tuple[int, dict[str, object]]:
        done = subprocess.run(
            [*command, str(at), "-o", "json"],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
        [check] = json.loads(done.stdout)
        return done.returncode, check

    answers = {"check": "fork server", "ok": True, "found": "answers; it serves 0 supervisors"}
    assert asked(path) == (0, answers)
    status, check = asked(path.with_name("nowhere"))
    assert (status, check["ok"]) == (1, False)
    assert "No such file" in str(check["found"])


def test_who_says_nothing_is_waited_for_by_nobody(program: Program, path: Path) -> None:
    """It gets no server, it holds nobody up, and of very many the first ones make way."""
    silent = [socket.socket(socket.AF_UNIX) for _ in range(_MOST_NEWCOMERS + 1)]
    try:
        for each in silent:
            each.connect(str(path))
            each.settimeout(LONG)
        with Forker.connect(path, sandbox=Sandbox()) as forker:
            assert outcomes(forker, ("raw", "getpid"))
            assert len(children(program)) == 1
        assert silent[0].recv(1) == b""
        silent[-1].setblocking(False)
        with pytest.raises(BlockingIOError):
            silent[-1].recv(1)
    finally:
        for each in silent:
            each.close()
    until(lambda: not children(program), "the server of the supervisor that left ended")
    assert ping(path) == 0


def test_children_end_with_their_supervisor_and_the_others_live(
    program: Program, path: Path
) -> None:
    with (
        Forker.connect(path, sandbox=Sandbox()) as one,
        Forker.connect(path, sandbox=Sandbox()) as other,
    ):
        theirs = spawn(one, "attempt", attempts=[], stay=True)
        ours = spawn(other, "attempt", attempts=[], stay=True)
        assert receive_frame(theirs.channel) == receive_frame(ours.channel) == {"told": []}

        one.close()

        end = theirs.wait(LONG)
        assert end is not None
        assert end.lost
        assert ours.wait(0.2) is None
        ours.channel.shutdown(socket.SHUT_WR)
        assert ours.wait(LONG) == Exit(code=0)


def test_told_to_end_it_ends_all_children_first(path: Path) -> None:
    with launch(path) as program:
        wait_until(path, program)
        forker = Forker.connect(path, sandbox=Sandbox())
        child = spawn(forker, "attempt", attempts=[["daemon"]], stay=True)
        receive_frame(child.channel)

        program.send_signal(signal.SIGTERM)

        assert program.wait(LONG) == 0
        end = child.wait(LONG)
        assert end is not None
        assert end.lost
        assert not forker.alive()
        forker.close()


def test_told_to_end_it_waits_for_its_supervisors_if_it_drains(path: Path) -> None:
    with launch(path, "--drain") as program:
        wait_until(path, program)
        with Forker.connect(path, sandbox=Sandbox()) as forker:
            child = spawn(forker, "attempt", attempts=[], stay=True)
            receive_frame(child.channel)

            program.send_signal(signal.SIGTERM)

            assert outcomes(forker, ("raw", "getpid"))  # it is served as before
            assert program.poll() is None
            child.channel.shutdown(socket.SHUT_WR)
            assert child.wait(LONG) == Exit(code=0)

        assert program.wait(LONG) == 0
        assert not path.exists()


def test_told_to_end_it_ends_at_once_without_a_supervisor_if_it_drains(path: Path) -> None:
    with launch(path, "--drain") as program:
        wait_until(path, program)
        program.send_signal(signal.SIGTERM)

        assert program.wait(LONG) == 0


@pytest.mark.regression
def test_told_to_end_once_more_while_python_ends_it_ends_well(path: Path, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text(LATE)
    (tmp_path / "holder.py").write_text("import late\nheld = late.Late()\n")
    environment = {**ENVIRONMENT, "PYTHONPATH": f"{HERE}:{tmp_path}"}
    command = [*COMMAND, "--socket", str(path), "--preload", "holder"]
    with subprocess.Popen(command, env=environment) as program:
        wait_until(path, program)

        program.terminate()

        assert program.wait(LONG) == 0
    assert (tmp_path / "late.py.told").exists()


LATE = """
import os

class Late:
    \"\"\"Freed when Python has given up its handlers of signals.\"\"\"

    def __del__(self, make=os.mkdir, kill=os.kill, pid=os.getpid(), told=__file__ + ".told"):
        make(told)
        kill(pid, 15)
"""


def test_killed_it_takes_all_children_with_it(path: Path) -> None:
    with launch(path) as program:
        wait_until(path, program)
        forker = Forker.connect(path, sandbox=Sandbox())
        child = spawn(forker, "attempt", attempts=[], stay=True)
        receive_frame(child.channel)

        program.kill()

        end = child.wait(LONG)
        assert end is not None
        assert end.lost
        forker.close()
    with launch(path) as again:  # the socket that was left behind is replaced
        deadline = time.monotonic() + LONG
        while time.monotonic() < deadline:
            try:
                Forker.connect(path).close()
                break
            except ForkerError:
                time.sleep(0.05)
        again.terminate()
        assert again.wait(LONG) == 0


def test_a_second_one_is_refused(program: Program, path: Path) -> None:
    with launch(path) as second:
        try:
            assert second.wait(LONG) == 1
        finally:
            second.kill()
        assert second.stderr is not None
        assert f"Another fork server listens at {path}" in second.stderr.read().decode()
    Forker.connect(path).close()


def test_where_nobody_listens_that_is_said(path: Path) -> None:
    with pytest.raises(ForkerError, match="No fork server can be reached at"):
        Forker.connect(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(("options", "served"), [((), False), (("--supervisor-uid", "4711"), True)])
def test_other_users_are_served_only_when_they_were_named(
    options: tuple[str, ...], served: bool
) -> None:
    # pytest's own folders are closed to other users, at whatever depth they lie
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "forker.sock"
        assert connected_by_another_user(path, *options) == (0 if served else 1)


def connected_by_another_user(path: Path, *options: str) -> int:
    """Return 0 when that user is served, 1 when it is refused as such."""
    with launch(path, *options) as program:
        wait_until(path, program)
        path.chmod(0o666)
        pid = os.fork()
        if pid == 0:
            code = 2
            try:
                os.setresgid(4711, 4711, 4711)
                os.setresuid(4711, 4711, 4711)
                Forker.connect(path).close()
                code = 0
            except ForkerError as error:
                code = 1 if "User 4711 may not use" in str(error) else 3
            finally:
                os._exit(code)
        _, status = os.waitpid(pid, 0)
        program.terminate()
        assert program.wait(LONG) == 0
    return os.waitstatus_to_exitcode(status)


def test_what_a_service_needs_is_imported_by_its_name(path: Path) -> None:
    command = [*COMMAND, "--socket", str(path), "--for", "parser"]
    with subprocess.Popen(command, env=ENVIRONMENT) as program:
        wait_until(path, program)
        with Forker.connect(path, sandbox=Sandbox()) as forker:
            spec = ChildSpec(
                target="headway_parser.child.parse_file:parse",
                argument={
                    "root": "/nowhere",
                    "path": "a.py",
                    "bundle": "dags",
                    "cron_semantics": None,
                    "secrets": "refused",
                    "airflow_layer": "auto",
                },
            )
            child = forker.spawn(spec, 2)
            assert child.wait(LONG) is not None
            child.close()
        program.terminate()
        assert program.wait(LONG) == 0


def test_a_service_that_is_not_there_is_named(path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--socket", str(path), "--for", "nobody"],
        env=ENVIRONMENT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 4
    assert "No installed service 'nobody'" in done.stderr
