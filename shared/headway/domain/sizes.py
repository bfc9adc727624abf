"""Numbers of bytes, for people to read."""

from typing import Final

_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")
_STEP: Final = 1024


def in_bytes(number: int | None, unknown: str = "unknown") -> str:
    """Return a number of bytes with its unit, such as `1.5 GiB`; the text `unknown` for None."""
    if number is None:
        return unknown
    value, unit = float(number), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.0f} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"
