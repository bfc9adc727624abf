"""Programs that are forked from a process which has read their modules."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.runtime.forker import Prefork, PreforkError, Service, ServiceOrder
from headway.runtime.settings import configuration
from headway.testing.time.clock import until

PATIENCE = 60.0

PROGRAMS = """
import json, os, random, signal, sys, time
from pathlib import Path

READ_BY = os.getpid()

def tell():
    files = {}
    for link in Path("/proc/self/fd").iterdir():
        try:
            files[link.name] = os.readlink(link)
        except OSError:  # that of the listing itself
            pass
    print(json.dumps({
        "read_by": READ_BY, "pid": os.getpid(), "parent": os.getppid(), "arguments": sys.argv,
        "environment": dict(os.environ), "session": os.getsid(0), "chance": random.random(),
        "shown": Path("/proc/self/environ").read_text(), "files": files,
        "name": Path("/proc/self/comm").read_text().strip(),
        "signals": {n: int(signal.getsignal(n)) for n in (signal.SIGTERM, signal.SIGCHLD)},
        "woken": signal.set_wakeup_fd(-1),
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
    }))

def leave():
    import atexit
    atexit.register(print, "in good order")
    sys.exit(int(sys.argv[1]))

def fail():
    raise ValueError("it went wrong")

def stay():
    print(os.getpid(), flush=True)
    while True:
        time.sleep(60)

def note_the_end():
    def end(number, frame):
        print("told to end", flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, end)
    stay()

def ignore_sigterm():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    stay()
"""

LAUNCHER = """
import sys, time
from headway.runtime.settings import configuration
from headway.runtime.forker import ServiceOrder, Prefork

with Prefork(("programs",), configuration.environment()) as prefork:
    with open(sys.argv[1], "wb") as log:
        order = ServiceOrder("programs:note_the_end", [], configuration.environment())
        prefork.fork(order, log.fileno())
    print("there", flush=True)
    time.sleep(600)
"""


class Launcher:
    """A fork server of services, and what its programs print."""

    def __init__(self, prefork: Prefork, output: Path) -> None:
        self.prefork = prefork
        self.output = output

    def fork(self, name: str, *arguments: str, **environment: str) -> Service:
        own = {**configuration.environment(), **environment}
        with self.output.open("wb") as log:
            return self.prefork.fork(ServiceOrder(f"programs:{name}", arguments, own), log.fileno())

    def printed(self) -> str:
        return self.output.read_text()

    def staying(self, name: str = "stay") -> Service:
        """Fork a program that does not end by itself, and wait until it is at work."""
        service = self.fork(name)
        until(lambda: self.printed().endswith("\n"), "its beginning", PATIENCE)
        assert self.printed() == f"{service.pid}\n"
        return service


def host_environment(folder: Path) -> dict[str, str]:
    (folder / "programs.py").write_text(PROGRAMS)
    return {**configuration.environment(), "PYTHONPATH": str(folder), "KNOWN_TO_ALL": "yes"}


@pytest.fixture
def launcher(tmp_path: Path) -> Iterator[Launcher]:
    with Prefork(("programs",), host_environment(tmp_path)) as prefork:
        yield Launcher(prefork, tmp_path / "output")


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def told(launcher: Launcher, *arguments: str, **environment: str) -> dict[str, Any]:
    assert launcher.fork("tell", *arguments, **environment).wait(PATIENCE) == 0
    found: dict[str, Any] = json.loads(launcher.printed())
    return found


def test_a_program_finds_its_modules_read(launcher: Launcher) -> None:
    one, other = told(launcher, "a", "b"), told(launcher)

    assert one["read_by"] == other["read_by"] == one["parent"]
    assert one["arguments"] == ["headway", "a", "b"]
    assert one["pid"] == one["session"]
    assert one["name"] == "headway a b"
    assert one["chance"] != other["chance"]
    assert one["signals"] == {str(int(n)): signal.SIG_DFL for n in (signal.SIGTERM, signal.SIGCHLD)}
    assert one["blocked"] == []
    assert one["woken"] == -1, "a signal would be written into whatever has the number now"


def test_a_program_has_its_own_environment_and_shows_nobody_what_it_is(launcher: Launcher) -> None:
    found = told(launcher, SECRET="told to nobody")

    assert found["environment"]["SECRET"] == "told to nobody"
    assert "KNOWN_TO_ALL" not in found["environment"]
    assert "KNOWN_TO_ALL" in str(found["shown"])
    assert "told to nobody" not in str(found["shown"])


def test_a_program_has_no_file_but_its_output(launcher: Launcher) -> None:
    launcher.staying()  # another one's files are not its own, either
    files = told(launcher)["files"]

    output = str(launcher.output)
    assert files == {"0": "/dev/null", "1": output, "2": output}


def test_a_program_ends_as_python_does(launcher: Launcher) -> None:
    assert launcher.fork("leave", "7").wait(PATIENCE) == 7
    assert launcher.printed() == "in good order\n"

    assert launcher.fork("fail").wait(PATIENCE) == 1
    assert launcher.printed().endswith("ValueError: it went wrong\n")


def test_a_program_is_signalled_and_told_to_have_ended(launcher: Launcher) -> None:
    one, other = launcher.staying("note_the_end"), launcher.fork("stay")
    assert (one.poll(), other.poll()) == (None, None)

    with pytest.raises(subprocess.TimeoutExpired):
        one.wait(0.01)
    other.kill()
    assert other.wait(PATIENCE) == -signal.SIGKILL
    one.send_signal(signal.SIGTERM)
    assert one.wait(PATIENCE) == 0
    one.send_signal(signal.SIGTERM)  # which reaches nobody

    assert launcher.fork("leave", "0").wait(PATIENCE) == 0


@pytest.mark.parametrize("name", ["stay", pytest.param("ignore_sigterm", marks=pytest.mark.long)])
def test_nothing_is_left_of_a_prefork_server_that_was_closed(launcher: Launcher, name: str) -> None:
    service = launcher.staying(name)

    launcher.prefork.close()

    assert is_gone(service.pid)


def test_when_the_prefork_server_dies_its_programs_end_and_the_next_has_a_new_one(
    launcher: Launcher,
) -> None:
    service = launcher.staying("note_the_end")
    prefork = int(Path(f"/proc/{service.pid}/stat").read_text().rpartition(")")[2].split()[1])

    os.kill(prefork, signal.SIGKILL)

    assert service.wait(PATIENCE) == -signal.SIGTERM
    until(lambda: "told to end" in launcher.printed(), "its end", PATIENCE)
    until(lambda: is_gone(service.pid), "its end", PATIENCE)
    assert launcher.fork("leave", "3").wait(PATIENCE) == 3


def test_the_prefork_server_and_its_programs_end_when_the_launcher_is_killed(
    tmp_path: Path,
) -> None:
    output = tmp_path / "output"
    launcher = subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, str(output)],
        env=host_environment(tmp_path),
        stdout=subprocess.PIPE,
    )
    assert launcher.stdout is not None
    launcher.stdout.readline()
    until(lambda: output.read_text().endswith("\n"), "its beginning", PATIENCE)
    pid = int(output.read_text())

    launcher.kill()
    launcher.wait()
    launcher.stdout.close()

    until(lambda: "told to end" in output.read_text(), "its end", PATIENCE)
    until(lambda: is_gone(pid), "its end", PATIENCE)


def test_a_prefork_server_that_cannot_read_its_modules_is_an_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with Prefork(("no_such_module",), host_environment(tmp_path)) as prefork:
        launcher = Launcher(prefork, tmp_path / "output")
        with pytest.raises(PreforkError, match="does not start"):
            launcher.fork("stay")

    assert "No module named 'no_such_module'" in capfd.readouterr().err
