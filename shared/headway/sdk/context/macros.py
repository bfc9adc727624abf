"""What templates find under `macros`."""

from datetime import UTC, date, datetime, timedelta

__all__ = ["datetime", "ds_add", "ds_format", "timedelta"]


def ds_add(ds: str, days: int) -> str:
    """Return the day that many days after `ds`, both as YYYY-MM-DD."""
    return (date.fromisoformat(ds) + timedelta(days=days)).isoformat()


def ds_format(ds: str, input_format: str, output_format: str) -> str:
    """Read `ds` by one strftime format and write it by another."""
    return datetime.strptime(ds, input_format).replace(tzinfo=UTC).strftime(output_format)
