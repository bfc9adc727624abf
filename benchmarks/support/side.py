"""One side of a comparison: an installation of Headway, and the code of the benchmarks it runs."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.support.turns import PIPES, REPEAT
from benchmarks.support.verdict import Metric, Series


class CannotCompareError(Exception):
    """A comparison is impossible; the message says why."""


@dataclass(frozen=True, slots=True)
class Side:
    """The Python of an installation, and the folder that holds the package `benchmarks`."""

    python: Path
    code: Path

    @contextmanager
    def running(self, bench: str, rounds: int) -> Iterator["Running"]:
        """Run a benchmark that repeats `rounds` times; it waits for its first turn.

        When the context ends, the benchmark gets no more turns, and ends.  Raises
        CannotCompareError if it ends without asking for a turn, CalledProcessError if it fails.
        """
        self._file(bench).unlink(missing_ok=True)
        give, given = os.pipe()
        asked, ask = os.pipe()
        process = subprocess.Popen(
            [str(self.python), "-m", "benchmarks", bench],
            cwd=self.code,
            env={**os.environ, REPEAT: str(rounds), PIPES: f"{give},{ask}"},
            pass_fds=(give, ask),
            stdout=subprocess.DEVNULL,
        )
        os.close(give)
        os.close(ask)
        running = Running(process, given, asked)
        try:
            if not running.asks():
                raise CannotCompareError(
                    f"The benchmark {bench} of {self.code} takes no turns: leave it out of NAME."
                )
            yield running
        finally:
            os.close(given)
            os.close(asked)
            process.wait()

    def series(self, bench: str) -> Mapping[Metric, Series]:
        """Return what the last run has measured, for each metric."""
        rows = json.loads(self._file(bench).read_text())
        return {
            Metric(row["bench"], row["case"], row["metric"]): Series(
                row["values"], row.get("better", "")
            )
            for row in rows
        }

    def _file(self, bench: str) -> Path:
        return self.code / "benchmarks" / "results" / f"{bench}.json"


@dataclass(frozen=True, slots=True)
class Running:
    """A benchmark that measures only when it is given a turn."""

    process: "subprocess.Popen[bytes]"
    given: int
    asked: int

    def turn(self) -> bool:
        """Let it measure once; return whether it asks for another turn, and False if it has ended.

        Raises CalledProcessError if it has failed.
        """
        os.write(self.given, b"!")
        return self.asks()

    def asks(self) -> bool:
        """Wait until it asks for a turn; return False if it has ended well without asking."""
        if os.read(self.asked, 1):
            return True
        if status := self.process.wait():
            raise subprocess.CalledProcessError(status, self.process.args)
        return False


def runnable(bench: str, ours: Side, own: Side, rounds: int) -> Side:
    """Return the first of these sides of the old installation that can run the benchmark.

    Both are tried in this order, until one asks for its first turn.
    """
    for side in (ours, own):
        try:
            with side.running(bench, rounds):
                print(f"{bench}: the old side runs the benchmarks of {side.code}.", flush=True)
                return side
        except (subprocess.CalledProcessError, CannotCompareError):
            print(f"{bench}: {side.python} cannot run the benchmarks of {side.code}.", flush=True)
    raise CannotCompareError(
        f"The old revision can run the benchmark {bench} neither with this checkout's code nor "
        "with its own, or its own takes no turns; the errors are above. Leave it out of NAME."
    )
