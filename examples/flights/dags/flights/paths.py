"""Where the pipeline keeps what it makes: a folder a table, one summary a day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

NEW_YORK = ZoneInfo("America/New_York")


@dataclass(frozen=True, slots=True)
class RunPaths:
    """The places below `root`, for local days of New York that follow each other."""

    root: Path
    days: tuple[date, ...]

    @classmethod
    def of(cls, params: Mapping[str, object], start: datetime, end: datetime) -> "RunPaths":
        """Return the places of the run about that data interval: one day, or several.

        The instants decide, so it does not matter in which zone they are given.
        """
        root = Path(str(params["output"])).expanduser()
        if not root.is_absolute():
            raise ValueError(
                f"The param `output` is {str(root)!r}; make it an absolute path, because "
                "workers and Spark each run in a folder of their own."
            )
        first, after = (instant.astimezone(NEW_YORK).date() for instant in (start, end))
        return cls(root, tuple(first + timedelta(n) for n in range((after - first).days)))

    @property
    def period(self) -> str:
        """The days in words."""
        first, last = self.days[0], self.days[-1]
        return str(first) if first == last else f"{first} to {last}"

    def table(self, name: str) -> str:
        """Return the folder of a table; the days are some of those in it."""
        return str(self.root / name)

    def summary(self, day: str) -> Path:
        """Return the file of a day's summary."""
        return self.root / "summary" / f"day={day}.json"
