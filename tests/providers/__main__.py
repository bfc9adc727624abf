"""Print which modules of the installed provider packages load, and why the others do not.

`python -m tests.providers [PACKAGE …]`, such as `http apache/spark`; all packages without one.
"""

import sys
import sysconfig
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Final

from headway.airflow_layer import finder
from headway.domain.gist import gist

ROOT: Final = Path(sysconfig.get_paths()["purelib"]) / "airflow" / "providers"
KINDS: Final = ("hooks", "operators", "transfers", "sensors", "triggers", "notifications")


def packages() -> list[str]:
    """Return the folders of the packages that are installed."""
    found = {file.parent.relative_to(ROOT) for file in ROOT.rglob("get_provider_info.py")}
    return sorted(map(str, found))


def modules(package: str) -> Iterator[tuple[str, str]]:
    """Yield the modules of a package that DAG files use, each with its kind."""
    for file in sorted((ROOT / package).rglob("*.py")):
        parts = file.relative_to(ROOT.parent.parent).with_suffix("").parts
        kind = next((part for part in parts if part in KINDS), None)
        if kind is not None and file.name != "__init__.py" and "example_dags" not in parts:
            yield ".".join(parts), kind


def why_not(module: str) -> str | None:
    """Import a module; return what goes wrong."""
    try:
        import_module(module)
    except Exception as error:  # noqa: BLE001 - whatever its author raises
        return f"{type(error).__name__}: {gist(str(error))}"
    return None


def main() -> None:
    warnings.simplefilter("ignore")
    finder.install()
    reasons: dict[str, list[str]] = defaultdict(list)
    for package in sys.argv[1:] or packages():
        there, loaded = Counter[str](), Counter[str]()
        for module, kind in modules(package):
            there[kind] += 1
            reason = why_not(module)
            if reason is None:
                loaded[kind] += 1
            else:
                reasons[reason].append(module)
        cells = [f"{loaded[kind]}/{there[kind]}" if there[kind] else "" for kind in KINDS]
        print(f"| {package} | {' | '.join(cells)} |")
    for reason, lost in sorted(reasons.items(), key=lambda row: -len(row[1])):
        print(f"\n{len(lost)} {reason}", *(f"  {module}" for module in lost), sep="\n")


if __name__ == "__main__":
    main()
