"""What fork servers import when no extra is installed: their children do without extras."""

import subprocess
import sys
from importlib.metadata import entry_points, packages_distributions

import pytest
from packaging.utils import canonicalize_name
from tests.installed_packages import needed

HIDE = """
import sys
from importlib import import_module

class Hidden:
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

module, *hidden = sys.argv[1:]
sys.meta_path.insert(0, Hidden(frozenset(hidden)))
import_module(module)
"""


def test_the_modules_of_extras_are_told_apart() -> None:
    base = needed("headway")

    assert {"headway", "jinja2", "markupsafe", "sqlalchemy"} <= base
    assert not {"fastapi", "pyspark", "pytest", "universal-pathlib"} & base


@pytest.mark.parametrize("service", ["parser", "worker"])
def test_a_fork_server_starts_without_any_extra(service: str) -> None:
    base = needed("headway")
    hidden = [
        module
        for module, owners in packages_distributions().items()
        if not base & {canonicalize_name(owner) for owner in owners}
    ]
    assert "upath" in hidden

    for point in entry_points(group=f"headway.preload.{service}"):
        command = [sys.executable, "-c", HIDE, point.value, *hidden]
        done = subprocess.run(command, capture_output=True, text=True, check=False)

        assert done.returncode == 0, done.stderr
