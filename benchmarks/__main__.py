"""`python -m benchmarks [NAME]`: run all benchmarks, or one."""

import sys
from collections.abc import Callable, Iterable
from typing import Final

from benchmarks import (
    chain,
    footprint,
    growth,
    masking,
    outage,
    parsing,
    scheduler,
    spark,
    storm,
    tasks,
    timetables,
    zones,
)
from benchmarks.report import Row, publish

BENCHMARKS: Final[dict[str, Callable[[], Iterable[Row]]]] = {
    "scheduler": scheduler.run,  # about five minutes
    "growth": growth.run,  # about twelve minutes
    "outage": outage.run,  # about three minutes
    "storm": storm.run,  # about twelve minutes
    "chain": chain.run,  # about half a minute
    "tasks": tasks.run,  # about two minutes
    "parsing": parsing.run,  # about four minutes
    "masking": masking.run,  # about two minutes
    "footprint": footprint.run,  # about two minutes
    "timetables": timetables.run,  # about half a minute
    "zones": zones.run,  # about ten minutes
    "spark": spark.run,  # about three minutes
}


def main() -> int:
    """Run what the command line names; exit 2 for a name that there is none of."""
    names = sys.argv[1:] or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            print(f"There is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}.")
            return 2
        publish(name, BENCHMARKS[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
