"""Install Headway on three machines by the commands of the page, then fail one of them.

    python -m tests.machines

The last line is `violations=V tasks=N`; the exit status is 0 if there is no violation.
"""

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.machines.play import missing, play


def main(arguments: Sequence[str]) -> int:
    """Do what the command line says; return the exit status."""
    parser = argparse.ArgumentParser(prog="make machines", description=__doc__.partition("\n")[0])
    parser.parse_args(arguments)
    if lacking := missing():
        print(lacking)
        return 1
    root = Path(tempfile.mkdtemp(prefix="headway-machines-"))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        result = play(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    for violation in result.violations:
        print(f"VIOLATION {violation}")
    print(f"violations={len(result.violations)} tasks={result.tasks}")
    return int(bool(result.violations))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
