"""The commands of a page of the documentation, and on which machine each is to run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COMPUTER: Final = "your computer"

_BLOCK: Final = re.compile(r"^```sh\n(?P<script>.*?)^```$", re.MULTILINE | re.DOTALL)
_WHERE: Final = re.compile(r"On ((?:\*\*[^*]+\*\*(?: and )?)+)")


@dataclass(frozen=True, slots=True)
class Step:
    """A script, and the names of the machines that it runs on."""

    machines: tuple[str, ...]
    script: str


def steps(page: Path) -> Iterator[Step]:
    """Yield the commands of a page; ValueError for those that no sentence gives a machine.

    The paragraph before the commands says it: "On **a** and **b**, …".
    """
    text = page.read_text()
    for block in _BLOCK.finditer(text):
        paragraph = text[: block.start()].rstrip().rpartition("\n\n")[2]
        named = _WHERE.findall(paragraph)
        if not named:
            line = text[: block.start()].count("\n") + 1
            raise ValueError(f"{page.name}, line {line}: no sentence says where to run this")
        yield Step(tuple(re.findall(r"\*\*([^*]+)\*\*", named[-1])), block["script"])
