"""`headway providers`, in an environment of its own, from a folder of small wheels."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from headway.cli.providers.requirements import UNSAID

WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
TINY = "apache-airflow-providers-tiny"


def wheel(folder: Path, name: str, number: str, *requires: str) -> None:
    """Make a wheel with one empty module, which writes its version into it."""
    plain = name.replace("-", "_")
    info = f"{plain}-{number}.dist-info"
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {number}"]
    with zipfile.ZipFile(folder / f"{plain}-{number}-py3-none-any.whl", "w") as file:
        file.writestr(f"{plain}.py", "")
        file.writestr(
            f"{info}/METADATA", "\n".join([*lines, *(f"Requires-Dist: {r}" for r in requires), ""])
        )
        file.writestr(f"{info}/WHEEL", WHEEL)
        file.writestr(f"{info}/RECORD", "")


class Environment:
    """A virtual environment that also sees the packages of the tests' own."""

    def __init__(self, folder: Path) -> None:
        self.wheels = folder / "wheels"
        self.wheels.mkdir()
        self.python = folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        site = next((folder / "venv" / "lib").glob("python*")) / "site-packages"
        above = sysconfig.get_paths()["purelib"]
        (site / "above.pth").write_text(f"import site; site.addsitedir({above!r})\n")

    def headway(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [str(self.python), "-m", "headway.cli", "providers", *arguments],
            env={**os.environ, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)},
            capture_output=True,
            text=True,
            check=False,
        )

    def version(self, name: str) -> str:
        """Return the version of a distribution there; nothing if there is none."""
        source = f"from importlib.metadata import version; print(version({name!r}))"
        done = subprocess.run(
            [str(self.python), "-c", source], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("providers"))
    for name in UNSAID:
        wheel(made.wheels, name, "99.0")
    for number in ("1.0", "2.0"):
        wheel(made.wheels, TINY, number, "apache-airflow>=2.11.0", "tiny-needs>=1", f"{TINY}-base")
    wheel(made.wheels, f"{TINY}-base", "1.0", "apache-airflow-core>=3")
    wheel(made.wheels, "tiny-needs", "1.5")
    wheel(made.wheels, f"{TINY}-greedy", "1.0", "apache-airflow", "pydantic>=99")
    wheel(made.wheels, "pydantic", "99.0")
    wheel(made.wheels, f"{TINY}-old", "1.0", "apache-airflow", "tiny-lib<2", f"{TINY}-part<2")
    wheel(made.wheels, f"{TINY}-new", "1.0", "apache-airflow", "tiny-lib>=2")
    wheel(made.wheels, f"{TINY}-any", "1.0", "apache-airflow", "tiny-lib>=1")
    for number in ("1.0", "2.0"):
        wheel(made.wheels, "tiny-lib", number)
        wheel(made.wheels, f"{TINY}-part", number)
    return made


def test_a_provider_is_installed_once_and_without_airflow(environment: Environment) -> None:
    first = environment.headway("install", f"{TINY}==1.0")
    again = environment.headway("install", TINY)

    assert first.returncode == again.returncode == 0, first.stderr + again.stderr
    assert "Restart the parsers and workers that run in this environment" in first.stderr
    assert again.stderr == ""
    assert [line.split() for line in first.stdout.splitlines()] == [
        ["package", "version", "installed"],
        [TINY, "1.0", "now"],
        [f"{TINY}-base", "1.0", "now"],
    ]
    assert [line.split()[2] for line in again.stdout.splitlines()[1:]] == ["before", "before"]
    assert (environment.version(TINY), environment.version("tiny-needs")) == ("1.0", "1.5")
    assert environment.version("apache-airflow") == ""
    listed = json.loads(environment.headway("list", "-o", "json").stdout)
    assert {"package": TINY, "version": "1.0"} in listed

    newer = environment.headway("install", f"{TINY}>=2")
    assert newer.returncode == 0
    assert environment.version(TINY) == "2.0"


def test_a_package_of_headways_own_is_not_changed(environment: Environment) -> None:
    done = environment.headway("install", f"{TINY}-greedy")

    assert done.returncode == 5
    assert "pip could not install" in done.stderr
    assert f"The user requested (constraint) pydantic=={version('pydantic')}" in done.stderr
    assert "pydantic" in done.stderr
    assert "A constraint is the version that is installed here, which stays," in done.stderr
    assert environment.version("pydantic") == version("pydantic")
    assert environment.version(f"{TINY}-greedy") == ""


def test_what_an_installed_provider_package_needs_stays_as_it_needs_it(
    environment: Environment,
) -> None:
    assert environment.headway("install", f"{TINY}-old").returncode == 0
    assert environment.version("tiny-lib") == "1.0"

    suits = environment.headway("install", f"{TINY}-any")
    conflicts = environment.headway("install", f"{TINY}-new")
    newer = environment.headway("install", f"{TINY}-part>=2")

    assert suits.returncode == 0, suits.stderr
    assert conflicts.returncode == newer.returncode == 5
    assert "The user requested (constraint) tiny-lib<2" in conflicts.stderr
    assert f"{TINY}-old 1.0, which is installed here, requires {TINY}-part<2." in newer.stderr
    assert environment.version(f"{TINY}-new") == ""
    assert (environment.version("tiny-lib"), environment.version(f"{TINY}-part")) == ("1.0", "1.0")


def test_a_package_that_is_nowhere_is_an_error(environment: Environment) -> None:
    done = environment.headway("install", "apache-airflow-providers-nowhere")

    assert done.returncode == 5
    assert "No matching distribution found for apache-airflow-providers-nowhere" in done.stderr
