"""Hashes of strings that are the same in every fork server: a set has one order everywhere.

Otherwise a DAG file that goes through a set would have another shape after every restart of a
parser and in each of its replicas, and the code of a version would not make its tasks again.
"""

import os
import sys
from collections.abc import Mapping

from headway.runtime.forker.records import ForkerError

_NAME = "PYTHONHASHSEED"
_SEED = "0"


def with_fixed_hashes(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which Python begins with these hashes, whatever it said of them."""
    return {**environment, _NAME: _SEED}


def fix_hashes(environment: Mapping[str, str]) -> None:
    """Begin this program anew unless it has these hashes: Python settles them at its start."""
    if not sys.flags.hash_randomization:
        return
    if environment.get(_NAME) == _SEED:
        raise ForkerError(
            f"The fork server cannot fix the order of sets: Python heeds no {_NAME}. "
            "Start it without -I and -E."
        )
    again = [sys.executable, *sys.orig_argv[1:]]
    os.execve(sys.executable, again, with_fixed_hashes(environment))  # noqa: S606 - as it was
