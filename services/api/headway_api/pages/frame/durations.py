"""How long something took, in words."""

_EXACT, _MINUTE, _HOUR, _DAY = 10, 60, 3_600, 86_400


def in_words(seconds: float | None) -> str:
    """Return a duration by its two largest units, such as `3 min 20 s`; nothing for None."""
    if seconds is None:
        return ""
    if seconds < _EXACT:
        return f"{max(seconds, 0.0):.1f} s"
    whole = round(seconds)
    for unit, name, smaller, its_name in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if whole >= unit:
            rest = whole % unit // smaller
            return (
                f"{whole // unit} {name} {rest} {its_name}" if rest else f"{whole // unit} {name}"
            )
    return f"{whole} s"
