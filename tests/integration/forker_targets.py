"""What the children of the forker tests run.  Each tells its pids over the channel."""

import atexit
import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any

from headway.runtime.processes.frames import receive_frame, send_frame

Argument = dict[str, Any]


def echo(argument: Argument, channel: socket) -> None:
    send_frame(channel, argument)


def order(argument: Argument, channel: socket) -> None:
    send_frame(channel, {"order": list(set(argument["names"]))})


def leave(argument: Argument, channel: socket) -> None:
    sys.exit(argument["code"])


def leave_at_once(argument: Argument, channel: socket) -> None:
    os._exit(argument["code"])


def fail(argument: Argument, channel: socket) -> None:
    raise ValueError("a task's own error")


def crash(argument: Argument, channel: socket) -> None:
    ctypes.string_at(0)


def speak(argument: Argument, channel: socket) -> None:
    atexit.register(print, "atexit ran")
    threading.Thread(target=signal.pause, daemon=True).start()
    sys.stdout.write("out é \ud800")
    os.write(2, b"raw ")
    subprocess.run(["echo", "from a program"], check=True)
    sys.stderr.write("err")


def look_around(argument: Argument, channel: socket) -> None:
    send_frame(
        channel,
        {
            "files": _open_files(),
            "channel": channel.fileno(),
            "stdin": sys.stdin.read(),
            "environment": dict(os.environ),
            "directory": str(Path.cwd()),
            "umask": os.umask(0),
            "leads": [os.getsid(0) == os.getpid(), os.getpgid(0) == os.getpid()],
            "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())),
            "terminate": signal.getsignal(signal.SIGTERM) is signal.SIG_DFL,
            "child": signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL,
            "core": resource.getrlimit(resource.RLIMIT_CORE),
            "open_files": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            "nice": os.nice(0),
            "autogroup": _autogroup(),
            "inherited": subprocess.check_output(["ls", "/proc/self/fd"], text=True).split(),
        },
    )


def _autogroup() -> str:
    file = Path("/proc/self/autogroup")
    return file.read_text().strip() if file.exists() else ""


def _open_files() -> list[int]:
    listed = [int(file.name) for file in Path("/proc/self/fd").iterdir()]
    return [descriptor for descriptor in listed if _is_open(descriptor)]


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:  # the one that the listing itself used
        return False
    return True


def grab_memory(argument: Argument, channel: socket) -> None:
    bytearray(argument["bytes"])


def kill_itself(argument: Argument, channel: socket) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def wait_for_end(argument: Argument, channel: socket) -> None:
    """Live until the supervisor closes the channel."""
    send_frame(channel, {"pids": [os.getpid()], "namespace": _namespace()})
    receive_frame(channel)


def hang(argument: Argument, channel: socket) -> None:
    """Live on with a child, a setsid grandchild and a daemon, all of them deaf to SIGTERM.

    With `until_told`, until a frame comes.
    """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    reader, writer = os.pipe()
    _fork_sleeper(writer, new_session=False)
    _fork_sleeper(writer, new_session=True)
    _fork_daemon(writer)
    pids = [int(os.read(reader, 8)) for _ in range(3)]
    pids = [os.getpid(), *pids]
    send_frame(channel, {"pids": pids, "nanny": os.getppid(), "namespace": _namespace()})
    if argument.get("until_told"):
        receive_frame(channel)
    elif argument.get("stay", True):
        while True:
            signal.pause()


def kill_above(argument: Argument, channel: socket) -> None:
    """Tell what there is to be seen; if that is little, try to kill all of it."""
    seen = sorted(int(entry.name) for entry in Path("/proc").glob("[0-9]*"))
    if len(seen) == 2:
        os.kill(os.getppid(), signal.SIGKILL)
        with suppress(ProcessLookupError):  # there is nobody else
            os.kill(-1, signal.SIGKILL)
    send_frame(channel, {"seen": seen, "itself": os.getpid(), "nanny": os.getppid()})


def flee(argument: Argument, channel: socket) -> None:
    """Leave a process behind that never keeps its process id for long."""
    if os.fork() == 0:
        while True:
            if os.fork():
                os._exit(0)


def _namespace() -> str:
    return os.readlink("/proc/self/ns/pid")  # noqa: PTH115


def _fork_sleeper(writer: int, *, new_session: bool) -> None:
    if os.fork() == 0:
        if new_session:
            os.setsid()
        os.write(writer, b"%8d" % os.getpid())
        while True:
            signal.pause()


def _fork_daemon(writer: int) -> None:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        _fork_sleeper(writer, new_session=True)
        os._exit(0)
    os.waitpid(pid, 0)
