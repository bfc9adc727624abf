"""Start programs so that a signal which comes meanwhile leaves none of them behind.

A handler that raises may do so anywhere: also in `subprocess.Popen`, when the program runs
already and nobody holds it yet who could stop it.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from headway.runtime.processes.parent_death import dies_with_parent

_ENDING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Have the signals that end a process wait until the block is over.

    Start a program in it and note it there.  The program inherits that they wait: have it
    tethered, for a tether lets them go.  They wait for this thread alone, so begin no other one
    before: the system would give them to that.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_to_end(
    command: Sequence[str],
    *,
    user: str | None = None,
    environment: Mapping[str, str] | None = None,
    cwd: str | None = None,
    holds: Sequence[int] = (),
) -> "subprocess.CompletedProcess[str]":
    """Run a program, tethered and in a session of its own; both its streams are in `stdout`.

    `user` is the account to run it as; `holds` are descriptors that stay open in it.  When this
    is interrupted, it ends once the program and what that has started are gone.
    """
    with ExitStack() as ending:
        with uninterrupted():
            process = ending.enter_context(
                subprocess.Popen(
                    dies_with_parent(command, user=user),
                    env=environment,
                    cwd=cwd,
                    pass_fds=holds,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    text=True,
                    errors="replace",
                )
            )
            ending.callback(_kill_session, process)
        said, _ = process.communicate()
    return subprocess.CompletedProcess(command, process.returncode, said)


def _kill_session(process: "subprocess.Popen[str]") -> None:
    """Kill the program and what it has started, and wait for their end; none if it has ended."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None and not process.stdout.closed:
        process.stdout.read()  # to its end: that of all who could write to it
    process.wait()
