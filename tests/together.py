"""Which tests one process runs, one after the other: they share what is slow to make."""

from typing import Final

_BROWSER: Final = "tests/browser/"


def together(nodeid: str) -> str:
    """Return what tests have in common that one process runs.

    It is the module.  For tests in a browser it is their folder: they look at the same services.
    """
    return _BROWSER if nodeid.startswith(_BROWSER) else nodeid.partition("::")[0]
