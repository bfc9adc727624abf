"""What it costs to hide secrets in output, by what the secrets and the output are."""

import subprocess
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from string import printable
from time import process_time
from typing import Final

from benchmarks.support.report import Row
from benchmarks.support.turns import turns

NAME: Final = "masking"
REPEAT: Final = 3
SIZE: Final = 10 * 2**20
READ: Final = 64 * 2**10
SECONDS: Final = 2.0
MIB: Final = 100.0

RANDOM: Final = Random(1)


def _characters(length: int) -> str:
    return "".join(RANDOM.choices(printable[:94], k=length))


SECRETS: Final[dict[str, Callable[[], list[str]]]] = {
    "1,000 of 1 KiB": lambda: [_characters(1024) for _ in range(1000)],
    "1,000 of 1 KiB that begin alike": lambda: [f"{'x' * 1019}{n:05}" for n in range(1000)],
    "20,000 lines": lambda: ["\n".join(f"line {n} of it" for n in range(20_000))],
    "250 KiB of one letter": lambda: ["a" * 250 * 2**10],
}
OUTPUTS: Final[dict[str, Callable[[list[str]], bytes]]] = {
    "a log": lambda _: b"".join(b"2026-01-01 INFO row %d is done\n" % n for n in range(SIZE // 33)),
    "base64": lambda _: b64encode(RANDOM.randbytes(SIZE * 3 // 4)),
    "the secrets": lambda secrets: ("\n".join(secrets).encode() + b"\n") * 10_000,
    "one letter": lambda _: b"a" * SIZE,
}
CASES: Final = (
    ("1,000 of 1 KiB", "a log"),
    ("1,000 of 1 KiB", "base64"),
    ("1,000 of 1 KiB", "the secrets"),
    ("1,000 of 1 KiB that begin alike", "the secrets"),
    ("20,000 lines", "a log"),
    ("20,000 lines", "the secrets"),
    ("250 KiB of one letter", "one letter"),
)
HELD: Final = frozenset({"1,000 of 1 KiB", "1,000 of 1 KiB that begin alike"})
"""What the targets are for."""


def run() -> Iterator[Row]:
    """Measure each case in a process of its own: seconds of CPU, and the most memory."""
    for secrets, output in CASES:
        measured = [_measured(secrets, output) for _ in turns(REPEAT)]
        case = f"{secrets} in {output}"
        for number, (metric, unit, target) in enumerate(
            (("index", "s", None), ("10 MiB", "s", SECONDS), ("memory", "MiB", MIB))
        ):
            values = [repetition[number] for repetition in measured]
            if target is not None and secrets in HELD:
                yield Row.at_most(NAME, case, values, unit, target, metric)
            else:
                yield Row.of(NAME, case, metric, values, unit)


def _measured(secrets: str, output: str) -> tuple[float, ...]:
    command = [sys.executable, "-m", "benchmarks.masking", secrets, output]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return tuple(map(float, said.split()))


def _mask(secrets: list[str], output: bytes) -> tuple[float, float]:
    """Return the seconds of CPU for making the index, and for the output."""
    from headway.runtime.masking import Masker

    started = process_time()
    masker = Masker()
    masker.prepare(*secrets)
    indexed = process_time()
    for at in range(0, len(output), READ):
        masker.feed(output[at : at + READ])
    masker.flush()
    return indexed - started, process_time() - indexed


def _most_memory() -> float:
    """Return the most MiB that this process has had in memory."""
    status = Path("/proc/self/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 2**10


def main() -> None:
    """Say what one case has taken, to the process that measures it."""
    from headway.runtime.masking import Masker

    secrets = SECRETS[sys.argv[1]]()
    output = OUTPUTS[sys.argv[2]](secrets)[:SIZE]
    Masker().mask("")
    before = _most_memory()
    index, mask = _mask(secrets, output)
    print(index, mask, _most_memory() - before)


if __name__ == "__main__":
    main()
