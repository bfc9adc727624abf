"""Who may talk to a driver on this machine: its own processes alone."""

import re
from collections.abc import Collection, Mapping
from typing import Final

_AUTHENTICATE: Final = "spark.authenticate"
_MAKES_ITS_OWN_SECRET: Final = re.compile(r"local(\[[^\]]*\])?")
"""Masters for which Spark makes a random secret in memory, which stands in no argument,
environment or file."""


def authenticated(
    given: Mapping[str, str], defaults: Collection[str], master: str
) -> dict[str, str]:
    """Have a driver on a local master refuse who does not know its secret, unless it is set.

    Without that, any user of the machine may ask its RPC and its block manager, read cached
    data and stop its executor.  `defaults` are the names that Spark's own configuration sets.
    """
    named = _AUTHENTICATE in given or _AUTHENTICATE in defaults
    if named or not _MAKES_ITS_OWN_SECRET.fullmatch(master):
        return dict(given)
    return {**given, _AUTHENTICATE: "true"}
