"""Each error has a code for programs, and docs/errors.md tells each with its exit status."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from headway.cli.screen.errors import status_of
from headway.domain.errors import HeadwayError

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "errors.md"
ROW = re.compile(r"^\| `(\w+)` \| (\d) \| (\S.*\.) \| (\S.*\.) \|$", re.MULTILINE)
LIBRARY = ROOT / "shared" / "headway"
TASKS_OWN = LIBRARY / "sdk"
"""What the code of a task raises: it ends in the log, and no command or answer has it."""


def modules() -> Iterator[str]:
    """The modules of the library that define errors."""
    for file in sorted(LIBRARY.rglob("*.py")):
        if TASKS_OWN in file.parents or "testing" in file.parts:
            continue
        classes = (it for it in ast.parse(file.read_text()).body if isinstance(it, ast.ClassDef))
        if any(ast.unparse(base).endswith("Error") for it in classes for base in it.bases):
            yield ".".join(file.relative_to(LIBRARY.parent).with_suffix("").parts)


def kinds() -> list[type[HeadwayError]]:
    found = {
        value
        for name in modules()
        for value in vars(import_module(name)).values()
        if isinstance(value, type) and issubclass(value, HeadwayError)
    }
    return sorted(found, key=lambda kind: kind.__name__)


KINDS = kinds()


def test_all_of_them_are_found() -> None:
    names = {kind.__name__ for kind in KINDS}

    assert len(names) >= 40
    assert names >= {"DagNotFoundError", "ForkerError", "PreforkError", "FailedInPodError"}


def test_each_error_has_a_code_of_its_own() -> None:
    assert [kind.__name__ for kind in KINDS if "code" not in vars(kind)] == []
    assert len({kind.code for kind in KINDS}) == len(KINDS)
    assert [kind.code for kind in KINDS if not re.fullmatch(r"[a-z]+(_[a-z]+)*", kind.code)] == []


def test_the_page_tells_each_code_with_its_exit_status_in_order_and_no_other() -> None:
    rows = ROW.findall(PAGE.read_text())
    of_page = [(code, int(status)) for code, status, _when, _what_to_do in rows]

    assert of_page == sorted((kind.code, int(status_of(kind.__new__(kind)))) for kind in KINDS)
    assert len(rows) == PAGE.read_text().count("\n| `")
