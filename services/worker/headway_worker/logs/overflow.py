"""What of a task's output is not written: counted, and its end kept."""

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

from headway.runtime.logs.lines import LogSource, encode_output


class _Block(NamedTuple):
    time: str
    source: LogSource
    output: bytes


class Rest(NamedTuple):
    """What was left out, and the encoded lines that were not."""

    left_out_lines: int
    left_out_bytes: int
    lines: list[bytes]


@dataclass(slots=True)
class Overflow:
    """Take output that is too much; of the last `tail` bytes the lines can still be had.

    The lines of an attempt that fails are most telling at their end.
    """

    tail: int
    lines: int = 0
    size: int = 0
    _blocks: deque[_Block] = field(default_factory=deque)
    _kept: int = 0

    def add(self, time: str, source: LogSource, output: bytes) -> None:
        """Take lines, separated by line feeds."""
        self.lines += output.count(b"\n") + 1
        self.size += len(output) + 1
        self._blocks.append(_Block(time, source, output))
        self._kept += len(output)
        while self._kept - len(self._blocks[0].output) > self.tail:
            self._kept -= len(self._blocks.popleft().output)

    def clear(self) -> None:
        """Begin anew, because what follows is written."""
        self.lines = self.size = self._kept = 0
        self._blocks.clear()

    def rest(self) -> Rest:
        """Return the last lines, as many as are `tail` bytes when encoded."""
        found: list[bytes] = []
        lines, count, room = self.lines, self.size, self.tail
        for block in reversed(self._blocks):
            for line in reversed(block.output.split(b"\n")):
                encoded = b"".join(encode_output(block.time, block.source, line))
                room -= len(encoded)
                if room < 0:
                    return Rest(lines, count, found[::-1])
                found.append(encoded)
                lines -= 1
                count -= len(line) + 1
        return Rest(lines, count, found[::-1])
