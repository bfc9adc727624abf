"""Parse one file in a process of its own, for commands that have no fork server."""

import os
import resource
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from signal import strsignal
from socket import socket, socketpair
from threading import Event
from typing import Final

from headway.domain.dag.cron_semantics import CronSemantics
from headway.domain.errors import SerializationError
from headway.runtime.daemon.clock import SystemClock
from headway.runtime.processes.frames import Frame, receive_frame
from headway.runtime.settings.layer_use import LayerUse
from headway.sdk.running.file_secrets import FileSecrets
from headway.sdk.running.provided_secrets import provided_secrets
from headway_parser.child.imports import INSTALLED
from headway_parser.child.parse_file import parse

_LARGEST_ANSWER: Final = 96 * 2**20
_LOOKS, _PAUSE = 20, 0.01
"""How often to look whether a process has ended that is to end by itself, and the pause between."""


@dataclass(frozen=True, slots=True)
class ParseLimits:
    """What a parse may take: `seconds`, and bytes of memory beyond those of this process."""

    seconds: float | None = None
    memory_bytes: int | None = None


class SilentParseError(Exception):
    """The process has given no answer; the text says how it ended."""


def parse_apart(
    root: Path,
    path: str,
    cron_semantics: CronSemantics | None,
    *,
    secrets: FileSecrets | None = None,
    airflow_layer: LayerUse = LayerUse.AUTO,
    limits: ParseLimits = ParseLimits(),
) -> Frame:
    """Return what parsing the file answers; SilentParseError when there is no answer.

    What the file prints is dropped.  Without `secrets` it reads the connections and variables of
    this process's environment.  Its process, and what that has started, is killed at the limit
    of seconds.
    """
    ours, theirs = socketpair()
    with ours:
        with theirs:
            child = os.fork()
            if child == 0:
                argument = {
                    "root": str(root),
                    "path": path,
                    "bundle": root.name,
                    "cron_semantics": cron_semantics,
                    "secrets": provided_secrets() if secrets is None else secrets,
                    "airflow_layer": airflow_layer,
                }
                _parse_and_leave(argument, theirs, limits.memory_bytes)
        ours.settimeout(limits.seconds)
        return _answer(ours, lambda: _end(child), limits.seconds)


def _answer(ours: socket, end: Callable[[], int], seconds: float | None) -> Frame:
    try:
        answer = receive_frame(ours, _LARGEST_ANSWER)
    except TimeoutError:
        end()
        raise SilentParseError(f"Reading the file took more than {seconds:g} s.") from None
    except (SerializationError, ConnectionError) as error:
        end()
        raise SilentParseError(f"What the file left behind cannot be used: {error}") from None
    except BaseException:
        end()
        raise
    status = end()
    if answer is None:
        raise SilentParseError(
            f"Reading the file ended its process ({_how(status)}); it must not do that."
        )
    return answer


def _end(child: int) -> int:
    """Kill what is left of the process and of those it has started; return how it ended."""
    ended, status = _ended_by_itself(child)
    for kill in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            kill(child, signal.SIGKILL)
    return status if ended else os.waitpid(child, 0)[1]


def _ended_by_itself(child: int) -> tuple[int, int]:
    """Return what `waitpid` says of a process that may be about to end."""
    clock, never = SystemClock(), Event()
    ended, status = os.waitpid(child, os.WNOHANG)
    for _ in range(_LOOKS):
        if ended:
            break
        clock.wait(never, _PAUSE)
        ended, status = os.waitpid(child, os.WNOHANG)
    return ended, status


def _how(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"exit code {code}" if code >= 0 else f"signal {-code}, {strsignal(-code)}"


def _parse_and_leave(
    argument: Mapping[str, object], channel: socket, memory_bytes: int | None
) -> None:
    status = 1  # until all is done: what fails here must not look like an end that was asked for
    try:
        os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nowhere, stream)
        if memory_bytes is not None:
            most = memory_bytes + _address_space()  # a fork begins with what this process has
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        _forget_bundle(f"{argument['root']}/")
        parse(argument, channel)
        status = 0
    finally:
        os._exit(status)


def _address_space() -> int:
    """Return the bytes of address space that this process has; 0 where that is not told."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:
        return 0


def _forget_bundle(prefix: str) -> None:
    """Have this process know no more of the bundle than one that has imported nothing of it."""
    sys.path[:] = [entry for entry in sys.path if not _is_of_bundle(f"{entry}/", prefix)]
    for name, module in list(sys.modules.items()):
        # Not by getattr: a module that makes its names when they are asked for may raise anything.
        if _is_of_bundle(str(getattr(module, "__dict__", {}).get("__file__")), prefix):
            del sys.modules[name]


def _is_of_bundle(path: str, prefix: str) -> bool:
    return path.startswith(prefix) and not any(part in path for part in INSTALLED)
