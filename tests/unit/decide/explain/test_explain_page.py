"""The page on explanations leaves no reason out, and the commands no option."""

import re
from pathlib import Path

from headway.decide.explain.explanation import Reason

PAGE = (Path(__file__).parents[4] / "docs" / "explain.md").read_text()


def test_every_reason_is_on_the_page() -> None:
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)) == set(map(str, Reason))
