"""Commands of tests as forks of one process that has read their modules: each starts at once.

`headway standalone` forks its services from such a process, too.
"""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from headway.runtime.forker import Prefork, Service, ServiceOrder
from headway.runtime.processes.parent_death import dies_with_parent
from headway.runtime.settings import configuration
from headway.testing.time.clock import PATIENCE

_SHARED: Final = ("headway.cli.launch.warm", "headway.cli.main")
_CALL: Final = f"{__name__}:be_the_command"
_PROGRAM: Final = (sys.executable, "-m", "headway.cli")
_OF_A_PROGRAM: Final = ("LD_", "PYTHON")
"""How variables begin that a program reads when it starts, and a fork does not."""


def start_service(
    kind: str, environment: Mapping[str, str], folder: Path, log: IO[bytes]
) -> "Service | subprocess.Popen[bytes]":
    """Start a service by its command, in `folder`; it writes to `log`."""
    if _can_fork(environment):
        return _fork([kind], environment, folder, log, log)
    return subprocess.Popen(
        dies_with_parent([*_PROGRAM, kind]),
        env=dict(environment),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def run_command(
    arguments: Sequence[str], environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a `headway` command to its end."""
    if not _can_fork(environment):
        return subprocess.run(
            [*_PROGRAM, *arguments],
            env=dict(environment),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    with TemporaryDirectory() as folder:
        out, err = Path(folder) / "out", Path(folder) / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            command = _fork(arguments, environment, Path.cwd(), stdout, stderr)
        try:
            status = command.wait(PATIENCE)
        finally:
            command.kill()
        return subprocess.CompletedProcess(arguments, status, out.read_text(), err.read_text())


def be_the_command() -> None:
    """Be a `headway` command: of the arguments, all but its folder and the file of its errors."""
    from headway.cli.entry import main

    errors = os.open(sys.argv.pop(), os.O_WRONLY | os.O_APPEND)
    os.dup2(errors, sys.stderr.fileno())
    os.close(errors)
    os.chdir(sys.argv.pop())
    main()


def _can_fork(environment: Mapping[str, str]) -> bool:
    """Tell whether an environment differs in nothing that only a new program would read."""
    before = _inherited()
    return all(
        environment.get(name) == before.get(name)
        for name in {*environment, *before}
        if name.startswith(_OF_A_PROGRAM)
    )


def _fork(
    arguments: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    out: IO[bytes],
    err: IO[bytes],
) -> Service:
    order = ServiceOrder(_CALL, [*arguments, str(folder), str(err.name)], environment)
    return _prefork().fork(order, out.fileno())


@cache
def _prefork() -> Prefork:
    """Start the process that forks; it ends with this one."""
    return Prefork(_SHARED, _inherited()).__enter__()


def _inherited() -> dict[str, str]:
    return {
        name: value
        for name, value in configuration.environment().items()
        if not name.startswith("HEADWAY_")
    }
