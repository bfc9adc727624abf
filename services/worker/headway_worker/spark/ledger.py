"""The event log of one server of the worker's own, read as it grows."""

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from headway_worker.spark.events import EventLogTally

log = logging.getLogger(__name__)

FOLDER: Final = "events"
"""The folder, in a server's own, that holds its event log."""


def ledger_conf(scratch: Path) -> dict[str, str]:
    """Return the properties by which a server keeps a log that a Ledger can read."""
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": (scratch / FOLDER).as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "true",
        "spark.eventLog.rolling.maxFileSize": "16m",
        "spark.eventLog.includeTaskMetricsAccumulators": "false",
    }


@dataclass(slots=True)
class EventLog:
    """What the log says so far; files that Spark has done with are removed when they are read.

    What cannot be read is read later, if ever.  Use it in one thread.
    """

    scratch: Path
    tally: EventLogTally = field(default_factory=EventLogTally)
    _read: dict[Path, int] = field(default_factory=dict)

    @property
    def exists(self) -> bool:
        """Whether there is a log at all."""
        return any((self.scratch / FOLDER).glob("*/events_*"))

    def read(self) -> EventLogTally:
        """Take what has been added to the log, whole lines only; return the sums."""
        try:
            files = sorted((self.scratch / FOLDER).glob("*/events_*"), key=_number)
            for file in files:
                self._take(file, is_last=file == files[-1])
        except FileNotFoundError:  # its server has ended, and was cleared away
            pass
        except OSError as error:
            log.warning("action=read_events folder=%s error=%s", self.scratch, error)
        return self.tally

    def _take(self, file: Path, *, is_last: bool) -> None:
        with file.open("rb") as events:
            events.seek(self._read.get(file, 0))
            for line in events:
                if not line.endswith(b"\n"):
                    break
                self.tally.add(line)
                self._read[file] = self._read.get(file, 0) + len(line)
        if not is_last:
            file.unlink(missing_ok=True)
            self._read.pop(file, None)


def _number(file: Path) -> int:
    return int(file.name.split("_")[1])
