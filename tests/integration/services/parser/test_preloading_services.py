"""Nothing of a parser's preloaded parses is left when the parser is killed."""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headway.testing.services.cluster import ServiceCluster, service_cluster
from headway.testing.time.clock import until
from headway_parser.child.bundle_forker import NAME

pytestmark = pytest.mark.services

PACKAGE = "import os\nHOME = os.getpid()\n"
DAG_FILE = """
import os
import subprocess
from headway.sdk import DAG
import acme

DAG("d")
if os.path.exists({flag!r}) and acme.HOME != os.getpid():
    subprocess.run(["sleep", "{marker}"])
"""
MARKER = "86399.25"
"""Seconds that no other process sleeps."""


@pytest.fixture
def parsers(database_url: str, tmp_path: Path) -> Iterator[ServiceCluster]:
    """A cluster without members, whose DAG files may import the package `acme`."""
    packages = tmp_path / "site-packages"
    packages.mkdir()
    (packages / "acme.py").write_text(PACKAGE)
    (tmp_path / "flags").mkdir()
    given = {
        "PYTHONPATH": str(packages),
        "HEADWAY_PARSER_DAG_FILE_PROCESSOR_TIMEOUT": "600",
        "HEADWAY_PARSER_READABLE_PATHS": str(tmp_path / "flags"),
    }
    with service_cluster(database_url, tmp_path, given) as cluster:
        yield cluster


@pytest.mark.parametrize("killed", ["parser", "its fork server"])
def test_a_preloaded_parse_dies_with_its_parser_and_with_the_fork_server(
    parsers: ServiceCluster, tmp_path: Path, killed: str
) -> None:
    flag, file = tmp_path / "flags" / "go", parsers.dags / "d.py"
    file.write_text(DAG_FILE.format(flag=str(flag), marker=MARKER))
    parser = parsers.start("parser", 1)
    until(lambda: "action=preload " in parser.logged(), "a fork server of the bundle")
    flag.touch()
    file.write_text(f"{file.read_text()}# edited\n")
    tree = until(lambda: parsing_tree(parser.process.pid), "a preloaded parse that runs a program")
    assert {process.name() for process in tree} >= {NAME, "sleep"}
    assert tree[0].name() != NAME  # the parser's fork server is above the bundle's

    flag.unlink()
    if killed == "parser":
        assert parsers.end(parser, signal.SIGKILL) == -signal.SIGKILL
    else:
        tree[0].kill()

    until(lambda: not any(lives(process) for process in tree), "the end of all of them")


def parsing_tree(parser: int) -> list[psutil.Process]:
    """Return all processes below a parser once one of them is the program of a parse."""
    found = psutil.Process(parser).children(recursive=True)
    return found if any(each.name() == "sleep" for each in found) else []


def lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
