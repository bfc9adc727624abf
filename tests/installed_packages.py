"""What an installed package needs, by the metadata of what is installed here."""

from importlib.metadata import requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name


def needed(name: str, extra: str = "") -> set[str]:
    """Return all that an installed package needs on Linux, itself included."""
    found: set[str] = {canonicalize_name(name)}
    for line in requires(name) or ():
        wanted = Requirement(line)
        if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
            for each in ("", *wanted.extras):
                found |= needed(wanted.name, each)
    return found
