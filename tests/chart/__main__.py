"""Check the chart with every value set: `make chart`."""

import sys

from tests.chart.checks.immutable import changes
from tests.chart.checks.policy import violations
from tests.chart.checks.validity import invalid
from tests.chart.checks.wiring import loose_ends
from tests.chart.rendering import SETS, lint, render, rendered


def problems(name: str) -> list[str]:
    """Return all that is wrong with a value set."""
    old, new = rendered(name, 3), rendered(name, 4)
    found = [*lint(name, 3), *lint(name, 4)]
    if "Secret" not in {each["kind"] for each in new} and old != new:
        found.append("Helm 3 and Helm 4 render different objects")
    found += [*changes(old, new), *changes(new, render(SETS[name]))]
    return [*found, *invalid(new), *violations(new), *loose_ends(new)]


def main() -> int:
    """Print a line for each value set, and all problems; 1 if there is one."""
    objects = invalid_ones = 0
    for name in SETS:
        found = problems(name)
        count = len(rendered(name))
        objects += count
        invalid_ones += len(found)
        print(f"{name:20} {count:4} objects  {'; '.join(found) or 'valid'}")
    print(f"{len(SETS)} value sets, {objects} objects, {invalid_ones} invalid")
    return 1 if invalid_ones else 0


if __name__ == "__main__":
    sys.exit(main())
