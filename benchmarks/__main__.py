"""`python -m benchmarks [NAME]`: run all benchmarks but the longest one, or one."""

import sys
from importlib import import_module
from typing import Final

from benchmarks.support.report import publish

BENCHMARKS: Final = (
    "scheduler",  # about five minutes
    "growth",  # about twelve minutes
    "outage",  # about three minutes
    "storm",  # about twelve minutes
    "chain",  # about half a minute
    "tasks",  # about two minutes
    "parsing",  # about four minutes
    "masking",  # about two minutes
    "footprint",  # about two minutes
    "cli",  # about two minutes
    "timetables",  # about half a minute
    "zones",  # about ten minutes
    "scrape",  # some seconds
    "spark",  # about three minutes
    "api",  # about half an hour
    "ui",  # about ten minutes
)

BY_NAME: Final = (*BENCHMARKS, "retention")
"""Those that are run where they are named: one of them takes more than an hour."""


def main() -> int:
    """Run what the command line names; exit 2 for a name that there is none of."""
    names = sys.argv[1:] or BENCHMARKS
    for name in names:
        if name not in BY_NAME:
            print(f"There is no benchmark {name!r}; there are: {', '.join(BY_NAME)}.")
            return 2
        # Not before: an older installation runs those of these benchmarks that it can.
        publish(name, import_module(f"benchmarks.{name}").run())
    return 0


if __name__ == "__main__":
    sys.exit(main())
