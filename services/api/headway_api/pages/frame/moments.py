"""Moments as pages show them: in UTC, which a script turns into the zone that is chosen."""

from datetime import UTC, datetime

from markupsafe import Markup


def moment(at: datetime | None, none: str = "") -> Markup:
    """Return an element that shows a moment; the text `none` if there is none."""
    if at is None:
        return Markup("{}").format(none)
    utc = at.astimezone(UTC)
    shown = f"{utc:%Y-%m-%d %H:%M:%S}"
    exact = utc.isoformat(timespec="milliseconds")
    # Nothing in it is anybody's text; a page may have thousands of moments.
    return Markup(f'<time datetime="{exact}" title="{shown} UTC">{shown}</time>')  # noqa: S704
