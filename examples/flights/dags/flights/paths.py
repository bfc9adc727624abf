"""Where the pipeline keeps what it makes: one partition a table and day, one summary a day."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

NEW_YORK = ZoneInfo("America/New_York")


@dataclass(frozen=True, slots=True)
class DayPaths:
    """The places below `root` that belong to one local day of New York."""

    root: Path
    day: date

    @classmethod
    def of(cls, params: Mapping[str, object], data_interval_start: datetime) -> "DayPaths":
        """Return the places of the run whose data interval starts then.

        The instant decides, so it does not matter in which zone it is given.
        """
        root = Path(str(params["output"])).expanduser()
        if not root.is_absolute():
            raise ValueError(
                f"The param `output` is {str(root)!r}; make it an absolute path, because "
                "workers and Spark each run in a folder of their own."
            )
        return cls(root, data_interval_start.astimezone(NEW_YORK).date())

    def partition(self, table: str) -> str:
        """Return the folder of this day's rows of `table`."""
        return str(self.root / table / f"day={self.day}")

    @property
    def summary(self) -> Path:
        """The file of this day's summary."""
        return self.root / "summary" / f"day={self.day}.json"
