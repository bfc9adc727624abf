"""The rules of the chart, for tests: as they are, and such that nobody waits for them."""

import re
from pathlib import Path
from typing import Final

CHART: Final = Path(__file__).parents[4] / "deploy" / "helm" / "headway"
RULES: Final = CHART / "rules" / "headway.yaml"


def samples_in(expression: str) -> set[str]:
    """Return the names of Headway's samples that an expression of PromQL asks for."""
    return set(re.findall(r"\bheadway_\w+", expression))


def impatient(rules: str) -> str:
    """Return the rules with the same conditions, but that hold at once and look back seconds.

    Whether there was an API in the last hour is still asked of the hour.
    """
    at_once = re.sub(r"\bfor: \d+[smhd]", "for: 0s", rules)
    return re.sub(r"(?<!kind=\"api\"\})\[\d+[smhd]\]", "[3s]", at_once)
