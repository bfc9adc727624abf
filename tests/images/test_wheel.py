"""The one wheel: the same bytes from the same files, and all that Headway needs is in it."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headway import __version__
from headway.testing.services.machine import Machine

ROOT = Path(__file__).parents[2]
DAY = re.compile(r"^ *\d{4}-\d\d-\d\d +\d+ ", re.MULTILINE)
LONG = 600.0


def checkout(folder: Path) -> Path:
    """A copy of the files of this checkout, with times and modes of its own."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    for name in filter(None, names.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
        target.chmod(0o755 if os.access(ROOT / name, os.X_OK) else 0o644)
    return folder


def wheel(checkout: Path) -> Path:
    """The wheel that is built of a checkout."""
    own = {"PYTHON": sys.executable, "SOURCE_DATE_EPOCH": "1700000000"}
    subprocess.run(
        [checkout / "deploy" / "wheel"], env={**os.environ, **own}, check=True, capture_output=True
    )
    (found,) = (checkout / "dist").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return wheel(checkout(tmp_path_factory.mktemp("built")))


def test_the_same_files_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    other = checkout(tmp_path / "elsewhere")
    for file in other.rglob("headway*/**/*.py"):
        os.utime(file, (1_600_000_000, 1_600_000_000))
        file.chmod(0o600)
    (other / "shared/headway/__pycache__").mkdir()
    (other / "shared/headway/__pycache__/of_another.pyc").touch()

    assert wheel(other).read_bytes() == built.read_bytes()


def test_it_has_library_services_and_examples_and_no_support_of_tests(built: Path) -> None:
    with zipfile.ZipFile(built) as opened:
        names = set(opened.namelist())

    tops = {name.partition("/")[0] for name in names}
    services = {"headway_parser", "headway_scheduler", "headway_worker"}
    assert tops == {"headway", *services, f"headway-{__version__}.dist-info"}
    for folder in ("headway/db/migrations/versions/0001", "headway/examples/flights/"):
        assert any(name.startswith(folder) for name in names), folder
    assert [name for name in names if "testing" in name or "/tests/" in name] == []


@pytest.mark.services
@pytest.mark.spark
def test_the_demo_runs_from_the_wheel_in_an_empty_environment(built: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    python = environment / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    constraint = f"--constraint={ROOT / 'constraints.txt'}"
    install = [str(python), "-m", "pip", "install", "--quiet", constraint]
    subprocess.run([*install, f"{built}[spark,examples]"], check=True, cwd=tmp_path)
    machine = Machine.new(tmp_path / "machine")

    done = subprocess.run(
        [environment / "bin" / "headway", "demo"],
        env=dict(machine.environment),
        cwd=machine.root,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert len(DAY.findall(done.stdout)) == 7, done.stdout
    assert machine.processes() == {}
