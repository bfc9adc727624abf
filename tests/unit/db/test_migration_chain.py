"""Migrations are one chain, in the order of their numbers."""

import re
from pathlib import Path

from headway.db.migrations import versions


def test_each_migration_follows_the_one_before_by_number() -> None:
    (folder,) = versions.__path__
    files = sorted(Path(folder).glob("0*.py"))
    chain = [
        tuple(re.findall(r'^(?:down_)?revision = (?:"(\d+)"|None)', file.read_text(), re.M))
        for file in files
    ]
    numbers = [file.name.partition("_")[0] for file in files]

    assert numbers == [f"{number:04}" for number in range(1, len(files) + 1)]
    assert chain == list(zip(numbers, ["", *numbers[:-1]], strict=True))
