"""What untrusted code may try.  Each attempt tells what came of it, an error by its name."""

# ruff: noqa: PTH101, PTH102, PTH103, PTH105, PTH115, PTH116, PTH123, PTH208

import ctypes
import errno
import fcntl
import os
import py_compile
import resource
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from headway.runtime.forker import nannies
from headway.runtime.processes.frames import receive_frame, send_frame

Argument = dict[str, Any]
LIBC = ctypes.CDLL(None, use_errno=True)


def attempt(argument: Argument, channel: socket.socket) -> None:
    """Try each of the attempts, and tell what came of them."""
    told = {}
    for number, (name, *rest) in enumerate(argument["attempts"]):
        told[str(number)] = outcome(name, rest)
    send_frame(channel, {"told": list(told.values())})
    if argument.get("stay"):
        receive_frame(channel)


def serve(_argument: Argument, channel: socket.socket) -> None:
    """Be a fork server, for whoever is at the other end of the channel."""
    nannies.shield()
    nannies.attend(channel)


def outcome(name: str, rest: list[Any]) -> Any:
    try:
        return ATTEMPTS[name](*rest)
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    except MemoryError:
        return "MemoryError"


def read(path: str) -> str:
    with open(path, "rb") as file:
        return "read " + file.read(64).decode(errors="replace")


def read_of_parent(what: str) -> str:
    return read(f"/proc/{os.getppid()}/{what}")


def link(path: str) -> str:
    return os.readlink(path)


def listing(path: str) -> list[str]:
    return sorted(os.listdir(path))


def write(path: str) -> str:
    Path(path).write_text("written")
    return "written"


def append(path: str) -> str:
    with open(path, "a") as file:
        file.write("")
    return "opened"


def raw(name: str, *arguments: int) -> str:
    """Call the C library."""
    result = getattr(LIBC, name)(*(ctypes.c_long(each) for each in arguments))
    return errno.errorcode[ctypes.get_errno()] if result == -1 else f"returned {result}"


def change(how: str, path: str) -> str:
    """Change the mode, owner, times or an attribute of a file, by its path or a descriptor."""
    folder, name = os.path.split(path)
    reading = os.open(path, os.O_RDONLY)
    above = os.open(folder, os.O_RDONLY)
    me = os.getuid()
    ways: dict[str, Callable[[], object]] = {
        "chmod": lambda: os.chmod(path, 0o777),
        "fchmod": lambda: os.fchmod(reading, 0o777),
        "fchmodat": lambda: os.chmod(name, 0o777, dir_fd=above),
        "set-uid": lambda: os.chmod(path, 0o4755),
        "chown": lambda: os.chown(path, me, -1),
        "fchown": lambda: os.fchown(reading, me, -1),
        "lchown": lambda: os.lchown(path, me, -1),
        "utime": lambda: os.utime(path, (0, 0)),
        "futimens": lambda: os.utime(reading, (0, 0)),
        "utimensat": lambda: os.utime(name, (0, 0), dir_fd=above),
        "setxattr": lambda: os.setxattr(path, "user.note", b"x"),
        "fsetxattr": lambda: os.setxattr(reading, "user.note", b"x"),
        "lsetxattr": lambda: os.setxattr(path, "user.note", b"x", follow_symlinks=False),
        "removexattr": lambda: os.removexattr(path, "user.kept"),
        "flags": lambda: fcntl.ioctl(reading, 0x40086602, b"\x40" + bytes(7)),
    }
    try:
        ways[how]()
    finally:
        os.close(reading)
        os.close(above)
    return "changed"


def make_set_id() -> str:
    """Make a program in the scratch folder that would run as this account."""
    program = os.environ["TMPDIR"] + "/program"
    os.close(os.open(program, os.O_CREAT | os.O_WRONLY, 0o4755))
    return oct(os.stat(program).st_mode)


def everyday(readable: str) -> str:
    """Do in the scratch folder what DAG files do with files as they are imported."""
    with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as file:
        os.makedirs(folder + "/a/b")
        file.write(b"x")
        shutil.copyfile(readable, folder + "/a/copy")
        Path(folder, "touched").touch()
        Path(folder, "touched").touch()
        source = Path(folder, "module.py")
        source.write_text("answer = 42")
        py_compile.compile(str(source), doraise=True)
        os.replace(source, folder + "/moved.py")
        with tarfile.open(folder + "/a.tar", "w") as archive:
            archive.add(folder + "/moved.py", "moved.py")
        with tarfile.open(folder + "/a.tar") as archive:
            archive.extractall(folder + "/out", filter="data")
        shutil.rmtree(folder + "/a")
    return "done"


def mount() -> str:
    result = LIBC.mount(b"none", b"/mnt", b"tmpfs", 0, None)
    return errno.errorcode[ctypes.get_errno()] if result == -1 else "mounted"


def connect(family: int, kind: int, address: Any) -> str:
    target = tuple(address) if isinstance(address, list) else address
    with socket.socket(family, kind) as sock:
        sock.connect(target)
    return "connected"


def pair(kind: int) -> str:
    one, other = socket.socketpair(socket.AF_UNIX, kind)
    with one, other:
        one.send(b"x")
    return "paired"


def kill(pid: int, number: int) -> str:
    os.kill(pid, number)
    return "sent"


def kill_parent() -> str:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(0.3)
    return "sent"


def own_rank() -> str:
    """What libraries do to themselves: limits, niceness, the processors that they run on."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.setpriority(os.PRIO_PROCESS, 0, 19)
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return "ranked"


def ruin_parent(how: str) -> str:
    """Leave the nanny unable to raise the next child, or slow at it."""
    nanny = os.getppid()
    if how == "limit":
        resource.prlimit(nanny, resource.RLIMIT_AS, (2**20, 2**20))
    elif how == "rank":
        os.setpriority(os.PRIO_PROCESS, nanny, 19)
    elif how == "schedule":
        os.sched_setscheduler(nanny, os.SCHED_IDLE, os.sched_param(0))
    elif how == "pin":
        os.sched_setaffinity(nanny, {min(os.sched_getaffinity(0))})
    elif how == "stop":
        os.kill(nanny, signal.SIGSTOP)
    elif how == "stop_by_pipe":
        reader, _ = os.pipe()
        fcntl.fcntl(reader, 10, signal.SIGSTOP)  # F_SETSIG
    return "ruined"


def compute() -> str:
    """Use what DAG files may import: threads of native libraries are made, and placed."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyspark.sql

    assert pyspark.sql.SparkSession
    numbers = np.random.default_rng(1).random((600, 600))
    table = pa.Table.from_pandas(pd.DataFrame(numbers @ numbers))
    return f"{table.num_rows} rows"


def stop_all(argument: Argument, channel: socket.socket) -> None:
    """Stop the nanny, and another one (the forker): nobody obeys any more, or hears of an end."""
    ids = {"told": [os.getpid(), os.getppid()]}
    if not argument["also"] and not argument.get("silent"):
        send_frame(channel, ids)  # the forker kills a nanny as soon as it is stopped
    stopped = list(filter(None, (argument["also"], os.getppid())))
    for pid in stopped:
        os.kill(pid, signal.SIGSTOP)
    if argument["also"] and not argument.get("silent"):
        send_frame(channel, ids)
    while argument.get("again"):
        os.kill(stopped[-1], signal.SIGSTOP)
    while True:
        signal.pause()


def clone_user_namespace() -> str:
    child = LIBC.syscall(ctypes.c_long(56), ctypes.c_long(0x10000000 | signal.SIGCHLD), 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return errno.errorcode[ctypes.get_errno()] if child == -1 else "cloned"


def become(user: int) -> str:
    os.setresuid(user, user, user)
    return "became"


def capabilities() -> dict[str, str]:
    return _of_status(Path("/proc/self/status").read_text())


def capabilities_of_a_program() -> dict[str, str]:
    return _of_status(subprocess.check_output(["cat", "/proc/self/status"], text=True))


def _of_status(status: str) -> dict[str, str]:
    wanted = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return {name: fields[name].strip() for name in wanted}


def host_environment() -> dict[str, Any]:
    import tempfile

    return {
        "home": os.environ["HOME"],
        "scratch": tempfile.gettempdir(),
        "scratch_is_empty": os.listdir(tempfile.gettempdir()) == [],
        "oom": int(Path("/proc/self/oom_score_adj").read_text()),
        "user": os.getresuid()[1],
        "groups": os.getgroups(),
        "pid": os.getpid(),
        "processes": sorted(int(name) for name in os.listdir("/proc") if name.isdigit()),
    }


def open_many() -> str:
    kept: list[int] = []
    while len(kept) < 100_000:
        kept.append(os.open("/dev/null", os.O_RDONLY))
    return "opened them"


def write_much(size: int) -> str:
    with open(Path(os.environ["TMPDIR"], "large"), "wb") as file:
        file.truncate(size)
        file.seek(size)
        file.write(b"x")
    return "written"


def raise_limits() -> str:
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
        try:
            resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except ValueError:
            continue
        return "raised"
    return "refused"


def grab(size: int) -> str:
    return str(len(bytearray(size)))


def fill_scratch() -> str:
    """Leave a tree behind that is deeper than any path is long, and shut its owner out."""
    os.chdir(os.environ["TMPDIR"])
    Path("link").symlink_to("/etc")
    for depth in range(3000):
        os.mkdir("deeper", 0o700 if depth else 0o300)  # its owner cannot list that one
        os.chdir("deeper")
        Path("file").touch()
    return os.environ["TMPDIR"]


def daemon() -> int:
    """Leave a process behind in a session of its own; tell its id."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.write(writer, b"%d" % os.getpid())
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
            Path(os.environ["TMPDIR"], "daemon").touch()
            while True:
                signal.pause()
        os._exit(0)
    return int(os.read(reader, 20))


def fork_bomb(argument: Argument, channel: socket.socket) -> None:
    """Become 256 processes, each in a group of its own; no more, should nobody stop it."""
    send_frame(channel, {})
    for _ in range(8):
        os.fork()
        if os.getsid(0) != os.getpid():
            os.setpgid(0, 0)
    while True:
        signal.pause()


def thread_bomb(argument: Argument, channel: socket.socket) -> None:
    for _ in range(argument["threads"]):
        threading.Thread(target=signal.pause, daemon=True).start()
    while True:
        signal.pause()


def log_in(argument: Argument, channel: socket.socket) -> None:
    """Try to log into a database of which even the password is known."""
    import psycopg2

    try:
        psycopg2.connect(argument["url"], connect_timeout=5).close()
        send_frame(channel, {"told": "logged in"})
    except psycopg2.Error as error:
        send_frame(channel, {"told": str(error)})


ATTEMPTS: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (
        read, read_of_parent, link, listing, change, make_set_id, everyday,
        write, append, raw, mount, connect, pair, kill, kill_parent, become,
        clone_user_namespace, capabilities, capabilities_of_a_program, host_environment,
        open_many, write_much, raise_limits, grab, fill_scratch, daemon,
        own_rank, ruin_parent, compute,
    )
}  # fmt: skip
