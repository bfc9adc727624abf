"""What a process that a test starts inherits."""

import os


def path_and_home() -> dict[str, str]:
    """Return PATH and HOME, as far as they are set: what Java and Spark need."""
    given = os.environ  # noqa: TID251 - what is given to a child, not a setting
    return {key: given[key] for key in ("PATH", "HOME") if key in given}
