"""Wall clocks that are wrong, for real processes: Debian's faketime.

Monotonic time stays as it is, as on a machine whose wall clock alone is wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headway.testing.processes.required import required_program

_FIXED: Final = {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_NO_CACHE": "1"}


@dataclass(frozen=True, slots=True)
class WrongClock:
    """A clock that is off by as many seconds as its file says; processes look each time."""

    file: Path
    library: str

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment of a process that is to go by this clock."""
        return {
            "LD_PRELOAD": self.library,
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            **_FIXED,
        }

    def set(self, seconds: float) -> None:
        """Have the clock be so many seconds ahead of the machine's, or behind it."""
        whole = self.file.with_suffix(".new")
        whole.write_text(f"{seconds:+.1f}s\n")
        whole.replace(self.file)


def wrong_clock(folder: Path, seconds: float) -> WrongClock:
    """Return a clock that is so many seconds ahead; skip the test where there is no faketime."""
    required_program("faketime", "faketime")
    # The program is not run: it fails where a process of its number left shared memory.
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    clock = WrongClock(folder / "clock", str(library))
    clock.set(seconds)
    return clock
