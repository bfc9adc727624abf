"""Moments as pages show them: in UTC, which a script turns into the zone that is chosen."""

from datetime import UTC, datetime

from markupsafe import Markup


def moment(at: datetime | None, none: str = "") -> Markup:
    """Return an element that shows a moment; the text `none` if there is none."""
    if at is None:
        return Markup("{}").format(none)
    utc = at.astimezone(UTC)
    shown = f"{utc:%Y-%m-%d %H:%M:%S}"
    return Markup('<time datetime="{}" title="{} UTC">{}</time>').format(
        utc.isoformat(timespec="milliseconds"), shown, shown
    )
