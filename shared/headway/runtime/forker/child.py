"""From a fork of the nanny to user code: what a child finds when its target is called."""

import _signal  # type: ignore[import-not-found]
import importlib
import os
import resource
import socket
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn, TextIO

from headway.runtime.forker.records import ChildLimits, ChildSpec
from headway.runtime.processes.frames import close_all_but
from headway.runtime.processes.linux import die_with, stand_back
from headway.runtime.sandbox.confinement import Confinement
from headway.runtime.sandbox.privileges import go_first

Target = Callable[[dict[str, Any], socket.socket], object]


def run_child(
    spec: ChildSpec,
    channel: int,
    output: tuple[int, int],
    nanny: int,
    confinement: Confinement | None,
) -> NoReturn:
    """Become the child and call its target; leave without any clean-up of the forker's.

    The caller's frames are never returned to, so nothing of theirs is run or closed.
    """
    code = 1
    try:
        die_with(nanny)
        os.setsid()
        _take_files(channel, output, confinement.files() if confinement else [])
        _prepare(spec)
        if confinement is None:
            with suppress(OSError):  # there may be nothing of the kind
                go_first()
        else:
            confinement.enter()
            if confinement.account is not None:
                die_with(nanny)  # which a change of user makes the kernel forget
        _reset_signals()
        target = _load(spec.target)
        target(dict(spec.argument), socket.socket(fileno=channel))
        code = 0
    except SystemExit as leaving:
        code = _exit_code(leaving)
    except BaseException:  # noqa: BLE001 - here ends whatever user code raises
        traceback.print_exc()
    finally:
        flush_output()
        os._exit(code)


def _prepare(spec: ChildSpec) -> None:
    os.umask(0o022)
    os.chdir(spec.directory)
    os.environ.update(spec.environment)  # noqa: TID251 - the child's own, for its user code
    _apply(spec.limits)


def _take_files(channel: int, output: tuple[int, int], others: list[int]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for number, stream in enumerate(output, start=1):
        os.dup2(stream, number)
    close_all_but([0, 1, 2, channel, *others])


def prepare_output() -> None:
    """Make, in the forker, what children print with: descriptors 1 and 2, wherever they lead."""
    sys.stdout, sys.stderr = _output(1), _output(2)


def _output(descriptor: int) -> TextIO:
    return os.fdopen(
        descriptor, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False
    )


def _apply(limits: ChildLimits) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits.address_space_bytes is not None:
        resource.setrlimit(resource.RLIMIT_AS, (limits.address_space_bytes,) * 2)
    if limits.open_files is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = limits.open_files if hard == resource.RLIM_INFINITY else min(limits.open_files, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if limits.niceness:
        stand_back(limits.niceness)


def _reset_signals() -> None:
    """Undo what the forker set; a signal that came meanwhile is delivered now.

    The module `signal` would make an object of each blocked signal, and each child would copy
    pages of memory for them.
    """
    _signal.set_wakeup_fd(-1)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


def _load(target: str) -> Target:
    name, _, function = target.partition(":")
    module = sys.modules.get(name) or importlib.import_module(name)
    found: Target = getattr(module, function)
    return found


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    print(leaving.code, file=sys.stderr)  # noqa: T201 - as the interpreter does
    return 1


def flush_output() -> None:
    """Write what is printed and has not left this process, which a fork would write once more."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # the log's reader is gone, or user code closed it
            stream.flush()
