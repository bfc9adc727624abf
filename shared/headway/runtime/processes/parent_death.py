"""Start a program that cannot outlive the process that started it.

`python -m MODULE [--parent PID] [--signal NAME] [--user NAME] -- COMMAND …`, with this module's
name, becomes COMMAND, which the kernel signals as soon as its parent ends, however it
ends.  Only Linux can do that; elsewhere COMMAND simply runs.

The kernel's idea of a parent is the *thread* that started the child: start it from
the main thread, or from one that lives as long as the child shall.

`tethered` runs this very file without `site`, so it imports the standard library only.
"""

import argparse
import ctypes
import os
import pwd
import signal
import sys
from collections.abc import Sequence
from typing import Final, NoReturn

_PR_SET_PDEATHSIG: Final = 1
# A program inherits what is ignored: Python ignores the first two, a shell's `&` others.  It
# inherits what is blocked as well.
_RESET: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)


def dies_with_parent(
    command: Sequence[str],
    *,
    on_death: signal.Signals = signal.SIGTERM,
    user: str | None = None,
) -> list[str]:
    """Return the command line that runs `command` as a child that dies with this process.

    Give it to `subprocess.Popen` without `shell`: the child keeps the pid, files and
    environment that Popen gave it.  `on_death` is what it is sent when this process
    ends.  `user` is the account to run it as, which only root may name.
    """
    options = ["--parent", str(os.getpid()), "--signal", on_death.name.removeprefix("SIG")]
    if user is not None:
        options += ["--user", user]
    return [sys.executable, "-I", "-S", __file__, *options, "--", *command]


def die_with_parent(
    on_death: signal.Signals = signal.SIGTERM, *, parent: int | None = None
) -> None:
    """Have this process sent `on_death` when its parent ends; for a service's own `main`.

    Name the pid of the `parent` where it is known: one that ended before this call
    has gone unnoticed, and then the signal is raised here.
    """
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        zero = ctypes.c_ulong(0)
        if libc.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(on_death), zero, zero, zero) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if parent is not None and os.getppid() != parent:
        signal.raise_signal(on_death)


def become_user(name: str) -> None:
    """Give up root for the account `name`, with its own group and no other."""
    account = pwd.getpwnam(name)
    os.setgroups([])
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Become the command that the command line names, tethered to the parent."""
    options = _parser().parse_args(arguments)
    on_death = signal.Signals[f"SIG{options.signal}"]
    for each in _RESET:
        signal.signal(each, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    if options.user is not None:
        become_user(options.user)
    # Not before: the kernel forgets the signal when a process changes its user.
    die_with_parent(on_death, parent=options.parent)
    try:
        os.execvp(options.command[0], options.command)  # noqa: S606
    except OSError as error:
        sys.exit(f"Cannot run {options.command[0]}: {error.strerror}.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tether", description=__doc__, allow_abbrev=False)
    parser.add_argument("--parent", type=int, default=os.getppid(), metavar="PID")
    parser.add_argument("--signal", choices=["TERM", "INT", "QUIT", "KILL"], default="TERM")
    parser.add_argument("--user", metavar="NAME")
    parser.add_argument("command", nargs="+")
    return parser


if __name__ == "__main__":
    main()
