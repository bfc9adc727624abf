"""Carry out the operations of docs/operations.md on real services and servers.

    python -m tests.operations [fail-over] [upgrade] [dump] [point-in-time] [passwords] [key]

The last line is `violations=V plays=N`; the exit status is 0 if there is no violation.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from tests.operations import servers
from tests.operations.plays import PLAYS, Played, upgrade


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog="make operations", description=__doc__.partition("\n")[0])
    parser.add_argument("plays", nargs="*", choices=[[], *PLAYS], help="Only these.")
    parser.add_argument("--keep", action="store_true", help="Leave all that is made.")
    parser.add_argument("--earlier", default="HEAD~1", help="The revision to upgrade from.")
    given = parser.parse_args(arguments)
    if not servers.PROGRAMS.is_dir():
        print("Operations need PostgreSQL 15 with its programs: apt-get install postgresql-15")
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    names = given.plays or list(PLAYS)
    plays: dict[str, Callable[[Path], Played]] = {
        **PLAYS,
        "upgrade": partial(upgrade, revision=given.earlier),
    }
    violations = sum(_play(name, plays[name], keep=given.keep) for name in names)
    print(f"violations={violations} plays={len(names)}")
    return int(bool(violations))


def _play(name: str, play: Callable[[Path], Played], *, keep: bool) -> int:
    root = Path(tempfile.mkdtemp(prefix="headway-operations-"))
    root.chmod(0o711)  # the server's account passes through
    try:
        played = play(root)
    except AssertionError:
        played = Played(violations=[traceback.format_exc()])
    figures = ", ".join(f"{what} {number}" for what, number in played.figures.items())
    print(f"{name}: {figures}", flush=True)
    for violation in played.violations:
        print(f"VIOLATION {violation}", flush=True)
    if keep or played.violations:
        print(f"all that was made is in {root}", flush=True)
    else:
        shutil.rmtree(root, ignore_errors=True)
    return len(played.violations)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
