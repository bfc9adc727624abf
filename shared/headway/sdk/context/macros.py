"""What templates find under `macros`.  Modules are imported when a template uses them."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from importlib import import_module
from typing import Any, Final

from headway.sdk.exceptions import AirflowException

__all__ = [
    "datetime",
    "datetime_diff_for_humans",
    "ds_add",
    "ds_format",
    "ds_format_locale",
    "timedelta",
]

MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "dateutil": ("parser", "relativedelta", "tz"),
    "json": (),
    "time": (),
    "uuid": (),
}
"""The modules that are macros too, with the submodules that come with them."""


def __getattr__(name: str) -> Any:
    if name == "random":
        return import_module("random").random
    if name not in MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    for inner in MODULES[name]:
        import_module(f"{name}.{inner}")
    return import_module(name)


def ds_add(ds: str, days: int) -> str:
    """Return the day that many days after `ds`, both as YYYY-MM-DD."""
    return (date.fromisoformat(ds) + timedelta(days=days)).isoformat()


def ds_format(ds: str, input_format: str, output_format: str) -> str:
    """Read `ds` by one strftime format and write it by another."""
    return _read(ds, input_format).strftime(output_format)


def ds_format_locale(
    ds: str, input_format: str, output_format: str, locale: Any | None = None
) -> str:
    """Read `ds` by a strftime format and write it by a pattern of Babel's, in that language."""
    try:
        babel = import_module("babel.dates")
    except ImportError:
        raise AirflowException(
            "macros.ds_format_locale needs Babel, which is not installed where this task runs; "
            "install it there with `pip install Babel`."
        ) from None
    language = locale or getattr(babel, "LC_TIME", None) or "en_US"
    written: str = babel.format_datetime(_read(ds, input_format), output_format, locale=language)
    return written


def datetime_diff_for_humans(dt: datetime, since: datetime | None = None) -> str:
    """Return how long before or after `since`, or else now, a date is: "2 days after"."""
    import pendulum

    other = None if since is None else pendulum.instance(since)
    return pendulum.instance(dt).diff_for_humans(other)


def _read(ds: str, form: str) -> datetime:
    return datetime.strptime(ds, form).replace(tzinfo=UTC)
