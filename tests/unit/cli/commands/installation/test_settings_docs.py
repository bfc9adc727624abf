"""docs/settings.md tells every setting, with its default and its meaning, and no other."""

import re
from pathlib import Path

import pytest

from headway.cli.commands.installation import settings

DOCS = Path(__file__).parents[5] / "docs" / "settings.md"


def test_the_documented_settings_are_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HEADWAY_HOME", str(tmp_path))
    expected = {
        (str(row["variable"]), str(row["default"]), str(row["description"]))
        for row in settings.rows()
    }

    documented = re.findall(r"^\| `(\w+)` \| (?:`(.*?)`)? ?\| (.*) \|$", DOCS.read_text(), re.M)

    assert set(documented) == expected
