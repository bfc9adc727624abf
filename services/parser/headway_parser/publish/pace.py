"""How soon a file that does not change is parsed again."""

from dataclasses import dataclass
from typing import Final
from zlib import crc32

from headway_parser.publish.stored_parse import StoredParse

FIRST_RETRY: Final = 10.0
"""Seconds after which a file that failed is parsed again; twice as many after each failure."""

LONGEST_RETRY: Final = 600.0

SLOWNESS: Final = 20
"""At least so many times as long as it takes a file is left alone."""

SPREAD: Final = 0.25
"""The share by which waits differ, so that files that came at once do not stay together."""


@dataclass(frozen=True, slots=True)
class ReparsePace:
    """The intervals in seconds: of files that follow something else, and of all the others."""

    dynamic: float
    unchanged: float

    def due_in(self, parse: StoredParse, *, changed: bool, failed: bool) -> float:
        """Return the seconds until the next parse of a file that is left as it is.

        What has just `changed` is looked at again early: whether it is the same each time.
        """
        if failed:
            wait = min(FIRST_RETRY * 2.0 ** min(parse.failures, 30), LONGEST_RETRY)
        else:
            wait = self._interval(parse, changed=changed)
        wait *= 1 + SPREAD * (crc32(parse.file.path.encode()) % 1000) / 1000
        return max(wait, SLOWNESS * parse.seconds)

    def _interval(self, parse: StoredParse, *, changed: bool) -> float:
        specs = [version.spec for version in parse.result.versions]
        own = [spec.min_file_process_interval for spec in specs if spec.min_file_process_interval]
        if own:
            return min(own)
        return self.dynamic if changed or any(spec.dynamic for spec in specs) else self.unchanged
