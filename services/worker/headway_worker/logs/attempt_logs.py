"""The logs of a worker's attempts."""

import logging
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from headway.metrics.worker import LOG_BYTES_LOST
from headway.runtime.daemon.clock import Clock
from headway.runtime.logs.copies import RemoteLogs
from headway.runtime.logs.paths import CallbackLogKey, LogKey, logs_folder
from headway.runtime.settings.configuration import PRIVATE
from headway.runtime.settings.logs import LogSettings
from headway_worker.logs.copier import LogKeeper
from headway_worker.logs.file import LogFile, LogLimits
from headway_worker.logs.retention import Keep, Present
from headway_worker.logs.spool import LogSpool
from headway_worker.logs.tidier import LogTidier

log = logging.getLogger(__name__)

_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Logs:
    """Where attempts log to, and the threads that copy and remove what they have logged."""

    folder: Path
    limits: LogLimits
    clock: Clock
    keeper: LogKeeper
    tidier: LogTidier

    @classmethod
    def start(
        cls,
        given: LogSettings,
        home: Path,
        remote: RemoteLogs | None,
        clock: Clock,
        present: Present | None = None,
    ) -> Self:
        """Begin, in a Headway home; without a `remote` nothing is copied.

        `present` tells which runs there are: logs of others go.
        """
        folder = logs_folder(home)
        with suppress(OSError):  # on a full disk it is tried again with each log
            folder.mkdir(mode=PRIVATE, parents=True, exist_ok=True)
        keeper = LogKeeper(folder, clock, remote, interval=given.copy_interval)
        left: list[Path] = []
        if remote is not None:
            keeper.spool, left = LogSpool.take(home / "logs-to-copy")
        keeper.start(left)
        keep = Keep(given.keep_days * _DAY, given.keep_bytes)
        tidier = LogTidier(folder, keep, clock, keeper.busy, remote, present)
        tidier.start()
        limits = LogLimits(given.max_bytes, given.max_bytes_per_second)
        return cls(folder, limits, clock, keeper, tidier)

    def open(self, key: LogKey | CallbackLogKey) -> LogFile:
        """Return the log of an attempt or a callback that starts; it must be closed."""
        relative = key.relative
        self.keeper.began(relative)
        return LogFile(self.folder, relative, self.limits, self.clock, self._closed)

    def close(self) -> None:
        """End the threads, when what can be copied is."""
        self.tidier.close()
        self.keeper.close()

    def _closed(self, closed: LogFile) -> None:
        if closed.lost:
            log.warning("action=log_lost log=%s bytes=%d", closed.relative, closed.lost)
            LOG_BYTES_LOST.inc(by=closed.lost)
        self.keeper.ended(closed.relative)
