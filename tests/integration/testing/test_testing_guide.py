"""docs/testing-dags.md: all that it shows is done."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

PAGE = (Path(__file__).parents[3] / "docs" / "testing-dags.md").read_text()
SHOP = {"HEADWAY_CONN_SHOP": "http://shop.example"}
PROGRAMS = {
    "python": [sys.executable],
    "headway": [sys.executable, "-m", "headway.cli"],
    "pytest": [sys.executable, "-m", "pytest", "-p", "headway.testing.authors.plugin"],
}


def examples(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """The files of the page."""
    for example in examples("python"):
        file = tmp_path / example.partition("\n")[0].removeprefix("# ")
        file.parent.mkdir(exist_ok=True)
        file.write_text(example)
    (connections,) = examples("json")
    (tmp_path / "tests" / "connections.json").write_text(connections)
    return tmp_path


def run(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    program, *arguments = shlex.split(command)
    variables = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HEADWAY_HOME": str(folder / "home")}
    return subprocess.run(
        [*PROGRAMS[program], *arguments],
        cwd=folder,
        env={**os.environ, **variables, **SHOP},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_commands_of_the_page_run(repository: Path) -> None:
    (commands,) = examples("sh")
    said = []
    for command in commands.splitlines():
        done = run(command, repository)
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        said.append(re.sub(r"in [\d.]+ s", "", done.stdout))

    assert len(said) == 4
    assert said[0] == said[1]
    assert "reading eu from shop.example" in said[0]
    assert "[size[1]] return_value = 10" in said[2]
    assert "[report] return_value = 7" in said[3]


@pytest.mark.spark
def test_the_tests_of_the_page_pass_as_the_recipes_run_them(repository: Path) -> None:
    recipes: list[Any] = [yaml.safe_load(text) for text in examples("yaml")]
    steps = recipes[0]["jobs"]["dags"]["steps"]
    ran = [steps[-1]["run"], recipes[1]["dags"]["script"][-1]]

    assert ran == ["pytest --headway", "pytest --headway --junitxml=report.xml"]
    done = run(ran[1], repository)
    assert done.returncode == 0, done.stdout
    assert "10 passed" in done.stdout
    assert (repository / "report.xml").is_file()


def test_a_run_that_fails_ends_the_program(repository: Path) -> None:
    (repository / "tests" / "connections.json").write_text("{}")
    file = repository / "dags" / "sales.py"
    file.write_text(file.read_text().replace('("shop")', '("store")'))
    done = run("python dags/sales.py", repository)

    assert done.returncode == 1
    assert done.stderr.endswith("The run of DAG 'sales' has failed: the task land.\n")
    assert "[report] upstream_failed" in done.stdout
