"""Which tests one process runs, one after the other: they share what is slow to make."""

from typing import Final

_BROWSER: Final = "tests/browser/"
_SERVICES: Final = "tests/integration/services/"

ONE_STACK: Final = frozenset(
    f"{_SERVICES}{name}_services.py"
    for name in (
        "authoring/test_authoring",
        "authoring/test_trigger",
        "authoring/test_values",
        "scheduling/test_backfills",
        "scheduling/test_mapped_groups",
        "scheduling/test_trigger_rules",
        "worker/test_outcomes",
        "worker/test_stopping",
    )
)
"""The modules whose tests look at one stack of services, that of `services/conftest.py`."""


def together(nodeid: str) -> str:
    """Return what tests have in common that one process runs.

    It is the module.  Tests in a browser look at the same services, so it is their folder; and so
    it is for the modules of `ONE_STACK`.
    """
    if nodeid.startswith(_BROWSER):
        return _BROWSER
    module = nodeid.partition("::")[0]
    return _SERVICES if module in ONE_STACK else module
